# glmnet's paths and cross-validation for test/sql/enet.sql.
#
#     Rscript test/data/enet_reference.R test/data
#
# reads enet_rows.csv there and writes enet_paths.csv (set, fit, k, lambda, df, dev_ratio, coef: every sixth lambda of
# the path, and the last one; n: how many there are) and enet_cv.csv (set, alpha, k, lambda, mean, std_error, df, and
# the chosen lambdas; folds are fold modulo 4). Made with glmnet 4.1-6. The folds' fits are at the lambdas of all rows,
# as ours are; left to itself, cv.glmnet interpolates between those of each fold's own path.
suppressMessages(library(glmnet))
folder <- commandArgs(trailingOnly = TRUE)[1]
rows <- read.csv(file.path(folder, "enet_rows.csv"))
numbers <- function(x) paste0("{", paste(sprintf("%.17g", x), collapse = ","), "}")
number <- function(x) sprintf("%.17g", x)
data_of <- function(set) {
    r <- rows[rows$set == set, ]
    list(x = do.call(rbind, lapply(strsplit(gsub("[{}]", "", r$x), ","), as.numeric)), y = r$y, fold = r$fold + 1)
}

paths <- NULL
add_path <- function(set, fit, intercept = TRUE, ...) {
    d <- data_of(set)
    g <- glmnet(d$x, d$y, thresh = 1e-24, maxit = 1e8, intercept = intercept, ...)
    n <- length(g$lambda)
    for (k in unique(c(seq(2, n, 6), n))) {
        coef <- as.vector(g$beta[, k])
        if (intercept) coef <- c(g$a0[k], coef)
        paths <<- rbind(paths, data.frame(set, fit, n, k, lambda = number(g$lambda[k]), df = g$df[k],
                                          dev_ratio = number(g$dev.ratio[k]), coef = numbers(coef)))
    }
}
add_path("plain", "lasso")
add_path("plain", "net", alpha = 0.4)
add_path("plain", "ridge", alpha = 0)
add_path("plain", "positive", lower.limits = 0)
add_path("plain", "factors", penalty.factor = c(0, 1, 2, Inf, 0.5, 1))
add_path("plain", "through 0", intercept = FALSE)
add_path("plain", "net through 0", intercept = FALSE, alpha = 0.4)
add_path("plain", "ridge through 0", intercept = FALSE, alpha = 0)
add_path("plain", "0 as they are", intercept = FALSE, alpha = 0.5, standardize = FALSE)
add_path("wide", "net through 0", intercept = FALSE, alpha = 0.4)
add_path("plain", "as they are", standardize = FALSE, alpha = 0.8)
add_path("wide", "lasso")
add_path("wide", "net", alpha = 0.4)
write.csv(paths, file.path(folder, "enet_paths.csv"), row.names = FALSE, quote = c(1, 2, 8))

folds <- NULL
for (set in c("plain", "wide")) for (alpha in c(1, 0.5)) {
    d <- data_of(set)
    lambda <- glmnet(d$x, d$y, alpha = alpha, thresh = 1e-24, maxit = 1e8)$lambda
    g <- suppressWarnings(cv.glmnet(d$x, d$y, alpha = alpha, foldid = (d$fold - 1) %% 4 + 1, lambda = lambda,
                                    grouped = TRUE, thresh = 1e-24, maxit = 1e8))
    n <- length(lambda)
    k <- unique(c(seq(1, n, 8), n))
    folds <- rbind(folds, data.frame(set, alpha, n, k, lambda = number(g$lambda[k]), mean = number(g$cvm[k]),
                                     std_error = number(g$cvsd[k]), df = as.vector(g$nzero[k]),
                                     lambda_min = number(g$lambda.min), lambda_1se = number(g$lambda.1se)))
}
# without an intercept, where by rounding error a coefficient isn't 0 at glmnet's first lambda
d <- data_of("plain")
lambda <- glmnet(d$x, d$y, alpha = 0.3, intercept = FALSE, thresh = 1e-24, maxit = 1e8)$lambda
g <- suppressWarnings(cv.glmnet(d$x, d$y, alpha = 0.3, intercept = FALSE, foldid = (d$fold - 1) %% 4 + 1,
                                lambda = lambda, grouped = TRUE, thresh = 1e-24, maxit = 1e8))
n <- length(lambda)
k <- unique(c(seq(2, n, 8), n))
folds <- rbind(folds, data.frame(set = "plain", alpha = 0.3, n, k, lambda = number(g$lambda[k]),
                                 mean = number(g$cvm[k]), std_error = number(g$cvsd[k]), df = as.vector(g$nzero[k]),
                                 lambda_min = number(g$lambda.min), lambda_1se = number(g$lambda.1se)))
write.csv(folds, file.path(folder, "enet_cv.csv"), row.names = FALSE, quote = 1)
