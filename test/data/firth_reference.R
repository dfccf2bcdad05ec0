# Computes the fits of firth_fits.csv with R's brglm2 and prints the largest relative differences of estimates (relative
# to the standard error where that is larger), standard errors, brglm2's own standard errors, and log-likelihoods:
#
#     Rscript test/data/firth_reference.R test/data
#
# Frequencies are repeated rows. No part of the tests.
suppressMessages(library(brglm2))
options(warn = -1)
folder <- commandArgs(TRUE)[1]
rows <- read.csv(file.path(folder, "firth_rows.csv"), colClasses = c(x = "character"))
fits <- read.csv(file.path(folder, "firth_fits.csv"), colClasses = c(intercept = "character"))
worst <- 0
for (name in unique(fits$dataset)) {
    lines <- fits[fits$dataset == name, ]
    d <- rows[rows$dataset == name, ]
    d$x <- do.call(rbind, lapply(strsplit(gsub("[{}]", "", d$x), ","), as.numeric))
    d$o <- if (anyNA(d$base)) 0 else d$base
    d$w <- if (anyNA(d$weight)) 1 else d$weight
    if (!anyNA(d$frequency)) d <- d[rep(seq_len(nrow(d)), d$frequency), ]
    formula <- if (lines$intercept[1] == "t") y ~ x + offset(o) else y ~ 0 + x + offset(o)
    m <- glm(formula, data = d, family = binomial(), weights = w, method = "brglmFit", type = "AS_mean",
             epsilon = 1e-13, maxit = 1000)
    mu <- fitted(m)
    x <- model.matrix(m)
    information <- crossprod(x * (d$w * mu * (1 - mu)), x)
    plain <- sum(d$w * (ifelse(d$y > 0, d$y * log(mu), 0) + ifelse(d$y < 1, (1 - d$y) * log(1 - mu), 0)))
    found <- c(plain, plain + as.numeric(determinant(information)$modulus) / 2)
    terms <- grepl("^[0-9]+$", lines$term)
    values <- lines$estimate[match(c("log_lik", "penalized_log_lik"), lines$term)]
    apart <- function(ours, theirs) max(abs(ours - theirs) / pmax(abs(ours), 1e-10))
    sizes <- pmax(abs(lines$estimate[terms]), lines$std_error[terms])
    off <- c(max(abs(lines$estimate[terms] - coef(m)) / sizes),
             apart(lines$std_error[terms], sqrt(diag(solve(information)))),
             apart(lines$std_error[terms], summary(m)$coefficients[, 2]), apart(values, found))
    worst <- max(worst, off)
    cat(sprintf("%-30s %s\n", name, paste(sprintf("%.1e", off), collapse = " ")))
}
cat(sprintf("the farthest %.1e apart\n", worst))
