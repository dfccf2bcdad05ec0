# glmnet's paths and cross-validation for test/sql/enet_logit.sql.
#
#     Rscript test/data/enet_logit_reference.R test/data
#
# reads enet_logit_rows.csv there and writes enet_logit_paths.csv and enet_logit_cv.csv, whose columns are those of
# enet_paths.csv and enet_cv.csv; see enet_reference.R. Made with glmnet 4.1-6. cv.glmnet's deviance takes probabilities
# for no nearer to 0 and 1 than 1e-5, which none of these is.
suppressMessages(library(glmnet))
folder <- commandArgs(trailingOnly = TRUE)[1]
numbers <- function(x) paste0("{", paste(sprintf("%.17g", x), collapse = ","), "}")
number <- function(x) sprintf("%.17g", x)
rows <- read.csv(file.path(folder, "enet_logit_rows.csv"))
data_of <- function(set) {
    r <- rows[rows$set == set, ]
    list(x = do.call(rbind, lapply(strsplit(gsub("[{}]", "", r$x), ","), as.numeric)), y = r$y, w = r$w, fold = r$fold)
}
paths <- NULL
add_logit <- function(set, fit, intercept = TRUE, ...) {
    d <- data_of(set)
    g <- glmnet(d$x, d$y, family = "binomial", thresh = 1e-24, maxit = 1e8, intercept = intercept, ...)
    n <- length(g$lambda)
    for (k in unique(c(seq(2, n, 6), n))) {
        coef <- as.vector(g$beta[, k])
        if (intercept) coef <- c(g$a0[k], coef)
        paths <<- rbind(paths, data.frame(set, fit, n, k, lambda = number(g$lambda[k]), df = g$df[k],
                                          dev_ratio = number(g$dev.ratio[k]), coef = numbers(coef)))
    }
}
add_logit("plain", "lasso")
add_logit("plain", "net", alpha = 0.4)
add_logit("plain", "ridge", alpha = 0)
add_logit("plain", "positive", lower.limits = 0)
add_logit("plain", "factors", penalty.factor = c(0, 1, 2, Inf, 0.5))
add_logit("plain", "through 0", intercept = FALSE)
add_logit("plain", "net through 0", intercept = FALSE, alpha = 0.4)
add_logit("plain", "as they are", standardize = FALSE, alpha = 0.8)
add_logit("wide", "lasso")
add_logit("wide", "net", alpha = 0.4)
add_logit("apart", "lasso")
write.csv(paths, file.path(folder, "enet_logit_paths.csv"), row.names = FALSE, quote = c(1, 2, 8))

folds <- NULL
for (alpha in c(1, 0.5)) {
    d <- data_of("plain")
    lambda <- glmnet(d$x, d$y, family = "binomial", alpha = alpha, weights = d$w, thresh = 1e-24, maxit = 1e8)$lambda
    g <- suppressWarnings(cv.glmnet(d$x, d$y, family = "binomial", alpha = alpha, weights = d$w, foldid = d$fold + 1,
                                    lambda = lambda, grouped = TRUE, thresh = 1e-24, maxit = 1e8))
    n <- length(lambda)
    k <- unique(c(seq(1, n, 8), n))
    folds <- rbind(folds, data.frame(set = "plain", alpha, n, k, lambda = number(g$lambda[k]), mean = number(g$cvm[k]),
                                     std_error = number(g$cvsd[k]), df = as.vector(g$nzero[k]),
                                     lambda_min = number(g$lambda.min), lambda_1se = number(g$lambda.1se)))
}
write.csv(folds, file.path(folder, "enet_logit_cv.csv"), row.names = FALSE, quote = 1)
