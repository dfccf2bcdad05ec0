# Computes the covariances of covariance_fits.csv with R's sandwich and clubSandwich, and prints the differences:
#
#     Rscript test/data/covariance_reference.R test/data
#
# A line per matrix: the largest difference of an entry from the file's, over the square root of its two variances.
# Frequencies are repeated rows; rows of weight 0 are left out. No part of the tests.
suppressMessages({library(sandwich); library(clubSandwich)})
folder <- commandArgs(TRUE)[1]
rows <- read.csv(file.path(folder, "covariance_rows.csv"), colClasses = c(x = "character"))
fits <- read.csv(file.path(folder, "covariance_fits.csv"), colClasses = c(clusters = "character"))
again <- 30
worst <- 0

fit_in_r <- function(d, family, link, intercept) {
    d$x <- do.call(rbind, lapply(strsplit(gsub("[{}]", "", d$x), ","), as.numeric))
    d$o <- if (anyNA(d$base)) 0 else d$base
    d$w <- if (anyNA(d$weight)) 1 else d$weight
    f <- if (anyNA(d$frequency)) rep(1, nrow(d)) else d$frequency
    take <- rep(which(d$w > 0), f[d$w > 0])
    d <- as.list(d[take, ])
    formula <- if (intercept) y ~ x else y ~ 0 + x
    if (any(d$o != 0)) formula <- update(formula, . ~ . + offset(o))
    environment(formula) <- list2env(d)
    if (family == "gaussian")
        return(list(if (all(d$w == 1)) lm(formula, tol = 1e-13) else lm(formula, weights = w, tol = 1e-13), d))
    family <- switch(family, binomial = binomial(link), poisson = poisson(link), gamma = Gamma(link))
    start <- NULL
    for (i in seq_len(again)) {
        m <- glm(formula, family = family, weights = w, start = start, control = glm.control(1e-10, 200))
        start <- coef(m)
    }
    list(m, d)
}

# Returns the regression in which the working weights are 1, for least squares with weights and generalised linear
# models.
whitened <- function(m) {
    x <- model.matrix(m) * sqrt(weights(m, "working"))
    y <- residuals(m, "working") * sqrt(weights(m, "working"))
    lm(y ~ 0 + x, tol = 1e-13)
}

for (name in unique(fits$dataset)) {
    of_one <- fits[fits$dataset == name, ]
    r <- fit_in_r(rows[rows$dataset == name, ], of_one$family[1], of_one$link[1], any(of_one$i == 0))
    m <- r[[1]]
    ids <- data.frame(r[[2]][c("cluster1", "cluster2")])
    for (kind in unique(paste(of_one$vcov, of_one$clusters))) {
        lines <- of_one[paste(of_one$vcov, of_one$clusters) == kind, ]
        vcov <- lines$vcov[1]
        columns <- as.integer(strsplit(lines$clusters[1], "+", fixed = TRUE)[[1]])
        plain <- !inherits(m, "glm") && is.null(m$weights)
        v <- if (vcov == "CR2") as.matrix(vcovCR(if (plain) m else whitened(m), ids[, columns], type = "CR2"))
             else if (vcov == "CR0") vcovCL(m, ids[columns], type = "HC0", cadjust = FALSE)
             else if (vcov == "CR1") vcovCL(m, ids[columns], type = "HC1")
             else vcovHC(m, type = vcov)
        first <- min(lines$i)
        at <- cbind(lines$i, lines$j) - first + 1
        ours <- matrix(0, nrow(v), nrow(v))
        ours[at] <- lines$value
        sizes <- sqrt(abs(diag(ours)))
        off <- max(abs(lines$value - v[at]) / (sizes[at[, 1]] * sizes[at[, 2]]))
        worst <- max(worst, off)
        cat(sprintf("%-40s %-10s %.1e%s\n", name, kind, off, if (off > 1e-9) "  <" else ""))
    }
}
cat(sprintf("the farthest %.1e apart\n", worst))
