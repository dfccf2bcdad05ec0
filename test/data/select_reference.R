# Compares R's leaps and step() with the subsets of select_fits.csv, which select_reference.py makes:
#
#     Rscript test/data/select_reference.R test/data
#
# Prints, per set and method, the subsets that differ, and the largest relative difference of RSS, AIC and BIC from
# those of lm(). No part of the tests.
library(leaps)
folder <- commandArgs(TRUE)[1]
fits <- read.csv(file.path(folder, "select_fits.csv"))
sets <- list(mtcars = c("reference/mtcars.csv", "mpg"), diabetes = c("reference/diabetes.csv", "y"),
             longley = c("nist/longley.csv", "y"))

of_model <- function(d, columns, intercept)
    lm(reformulate(c(if (length(columns)) columns else "1", if (!intercept) "0"), "y"), d, tol = 1e-12)

for (name in names(sets)) for (method in c("best", "forward", "backward")) for (intercept in c("t", "f")) {
    d <- read.csv(file.path(folder, sets[[name]][1]))
    y <- d[[sets[[name]][2]]]
    x <- as.matrix(d[setdiff(names(d), sets[[name]][2])])
    f <- fits[fits$dataset == name & fits$method == method & fits$intercept == intercept, ]
    r <- summary(regsubsets(x, y, nvmax = ncol(x), intercept = intercept == "t", really.big = TRUE,
                            method = if (method == "best") "exhaustive" else method))
    which <- r$which[, setdiff(colnames(r$which), "(Intercept)"), drop = FALSE]
    theirs <- apply(which, 1, function(w) paste0("{", paste(which(w), collapse = ","), "}"))
    ours <- f$columns[match(seq_along(theirs), f$size)]
    worst <- 0
    d <- data.frame(y = y, x)
    for (k in seq_len(nrow(f))) {
        columns <- colnames(x)[as.integer(strsplit(gsub("[{}]", "", f$columns[k]), ",")[[1]])]
        m <- of_model(d, columns, intercept == "t")
        worst <- max(worst, abs(c(deviance(m) / f$rss[k], AIC(m) / f$aic[k], BIC(m) / f$bic[k]) - 1))
    }
    cat(sprintf("%-10s%-10s%-14s subsets that differ: %d, numbers: %.1e\n", name, method,
                if (intercept == "t") "" else "no intercept", sum(theirs != ours), worst))
    if (intercept == "t" && method != "best") {
        all <- reformulate(colnames(x), "y")
        s <- if (method == "forward") step(lm(y ~ 1, d), all, direction = "forward", trace = 0) else
            step(lm(all, d), direction = "backward", trace = 0)
        taken <- paste0("{", paste(sort(match(names(coef(s))[-1], colnames(x))), collapse = ","), "}")
        cat(sprintf("%20s step() ends at %s, which is a line: %s\n", "", taken, taken %in% f$columns))
    }
}
