# Makes satterthwaite_fits.csv: degrees of freedom of CR2's variances by R's clubSandwich, and by the N x N matrices of
# Bell and McCaffrey (2002), which must agree:
#
#     Rscript test/data/satterthwaite_reference.R test/data
#
# The rows are those of covariance_rows.csv, mtcars, and a set with clusters of high leverage, which leverage() makes
# here and test/sql/satterthwaite.sql in SQL. With weights, and for generalised linear models, the degrees of freedom
# are those of the linear regression with the working weights. Frequencies are repeated rows.
suppressMessages(library(clubSandwich))
folder <- commandArgs(TRUE)[1]

leverage <- function() {
    i <- 1:480
    g <- (i * i * 48) %/% 230400
    data.frame(y = (i * 37) %% 101 + (i * i) %% 13, treated = as.numeric(g %in% c(5, 20, 44)),
               x = (i * 53) %% 97 + ifelse(g == 40, 2000, 0), z = (g * 29) %% 31, g = g)
}

# Returns the df of each coefficient from matrices of all rows. x: the whitened working model's rows; g: clusters
direct <- function(x, g) {
    # (X'X)^-1 X' = R^-1 Q'
    q <- qr(x, tol = 1e-13)
    back <- qr.Q(q) %*% t(backsolve(qr.R(q), diag(ncol(x))))
    hat <- tcrossprod(qr.Q(q))
    left <- diag(nrow(x)) - hat
    p <- lapply(unique(g), function(k) {
        rows <- which(g == k)
        e <- eigen(left[rows, rows, drop = FALSE], symmetric = TRUE)
        root <- ifelse(e$values < 1e-11, 0, 1 / sqrt(pmax(e$values, 1e-300)))
        adjust <- e$vectors %*% (root * t(e$vectors))
        left[, rows, drop = FALSE] %*% adjust %*% back[rows, , drop = FALSE]
    })
    sapply(seq_len(ncol(x)), function(k) {
        m <- crossprod(sapply(p, function(q) q[, k]))
        sum(diag(m))^2 / sum(m^2)
    })
}

# Returns the whitened regression of a model.
whiten <- function(m) {
    w <- sqrt(weights(m, "working"))
    if (is.null(w) || length(w) == 0) w <- rep(1, length(residuals(m)))
    list(x = model.matrix(m) * w, y = residuals(m, "working") * w)
}

line <- function(dataset, clusters, m, g) {
    w <- whiten(m)
    x <- w$x
    y <- w$y
    d <- coef_test(lm(y ~ 0 + x, tol = 1e-13), vcov = "CR2", cluster = g, test = "Satterthwaite")$df_Satt
    # clubSandwich has fewer digits if columns are nearly collinear or far from 0
    stopifnot(max(abs(d / direct(x, g) - 1)) < 1e-4)
    data.frame(dataset = dataset, clusters = clusters, term = seq_along(d), df = sprintf("%.13g", direct(x, g)))
}

fit <- function(d, family, link, intercept) {
    d$x <- do.call(rbind, lapply(strsplit(gsub("[{}]", "", d$x), ","), as.numeric))
    d$o <- if (anyNA(d$base)) 0 else d$base
    d$w <- if (anyNA(d$weight)) 1 else d$weight
    f <- if (anyNA(d$frequency)) rep(1, nrow(d)) else d$frequency
    d <- as.list(d[rep(which(d$w > 0), f[d$w > 0]), ])
    formula <- if (intercept) y ~ x else y ~ 0 + x
    if (any(d$o != 0)) formula <- update(formula, . ~ . + offset(o))
    environment(formula) <- list2env(d)
    family <- switch(family, gaussian = gaussian(link), binomial = binomial(link), poisson = poisson(link),
                     gamma = Gamma(link))
    start <- NULL
    for (i in 1:30) {
        m <- suppressWarnings(glm(formula, family = family, weights = w, start = start,
                                  control = glm.control(1e-14, 200)))
        start <- coef(m)
    }
    list(m, d)
}

rows <- read.csv(file.path(folder, "covariance_rows.csv"), colClasses = c(x = "character"))
fits <- read.csv(file.path(folder, "covariance_fits.csv"), colClasses = c(clusters = "character"))
fits <- fits[fits$vcov == "CR2" & !grepl("+", fits$clusters, fixed = TRUE), ]
out <- NULL
for (part in split(fits, paste(fits$dataset, fits$clusters))) {
    f <- fit(rows[rows$dataset == part$dataset[1], ], part$family[1], part$link[1], min(part$i) == 0)
    out <- rbind(out, line(part$dataset[1], part$clusters[1], f[[1]], f[[2]][[paste0("cluster", part$clusters[1])]]))
}
m <- glm(mpg ~ wt + hp, data = mtcars)
out <- rbind(out, line("mtcars", "carb", m, mtcars$carb))
d <- leverage()
out <- rbind(out, line("leverage", "g", glm(y ~ treated + x + z, data = d), d$g))
write.csv(out, file.path(folder, "satterthwaite_fits.csv"), row.names = FALSE, quote = 1:2)
