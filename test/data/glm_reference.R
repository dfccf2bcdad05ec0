# Computes the fits of glm_fits.csv with R's glm and MASS's glm.nb, and prints the differences:
#
#     Rscript test/data/glm_reference.R test/data
#
# A line per fit: the largest relative difference of estimates, of standard errors (theta's among them) and of the other
# lines; at the end the largest of all, and how many fits are within 1e-8 of the file. Needs MASS; no part of the tests.
#
# R lacks some options: frequencies are repeated rows instead (fits of billions are left out), l2 is left out, rows of
# weight 0 are left out because of BIC, and for binomial shares of numbers of trials that aren't whole, log_lik, aic and
# bic are not compared.
suppressMessages(library(MASS))
options(warn = -1)
folder <- commandArgs(TRUE)[1]
rows <- read.csv(file.path(folder, "glm_rows.csv"), colClasses = c(x = "character"))
fits <- read.csv(file.path(folder, "glm_fits.csv"), colClasses = c(theta = "character", intercept = "character"))
fits$key <- with(fits, paste(dataset, family, link, theta, l2, intercept, sep = " | "))
# epsilon / 1000 is also glm's tolerance for collinear columns. glm stops when the deviance does, which leaves estimates
# half their digits: it is started again from where it stopped.
tight <- glm.control(epsilon = 1e-10, maxit = 200)
again <- 30

family_of <- function(fit) switch(fit$family,
    "gaussian" = gaussian(fit$link), "gamma" = Gamma(fit$link), "poisson" = poisson(fit$link),
    "quasipoisson" = quasipoisson(fit$link), "binomial" = binomial(fit$link),
    "quasibinomial" = quasibinomial(fit$link), "negative binomial" = negative.binomial(as.numeric(fit$theta)))

# Returns list(estimates, standard errors) by term.
fit_in_r <- function(fit, d) {
    x <- do.call(rbind, lapply(strsplit(gsub("[{}]", "", d$x), ","), as.numeric))
    weight <- if (anyNA(d$weight)) rep(1, nrow(d)) else d$weight
    frequency <- if (anyNA(d$frequency)) rep(1, nrow(d)) else d$frequency
    base <- if (anyNA(d$base)) rep(0, nrow(d)) else d$base
    if (sum(frequency) > 1e5) return(NULL)
    take <- rep(which(weight > 0), frequency[weight > 0])
    frame <- list(y = d$y[take], x = x[take, , drop = FALSE], w = weight[take], o = base[take])
    formula <- if (fit$intercept == "t") y ~ x + offset(o) else y ~ 0 + x + offset(o)
    # R keeps a frame's offset only if there is one
    if (all(frame$o == 0)) formula <- if (fit$intercept == "t") y ~ x else y ~ 0 + x
    # another start; glm looks for it beside the formula's variables
    if (fit$theta != "ml") frame$level <- rep(family_of(fit)$linkfun(mean(frame$y)), length(take))
    environment(formula) <- list2env(frame)
    w <- frame$w
    if (fit$theta == "ml") {
        step <- glm.control(epsilon = 1e-15, maxit = 400)
        m <- tryCatch(glm.nb(formula, weights = w, control = step), error = function(e) e)
        for (i in 1:5) if (!inherits(m, "error"))
            m <- glm.nb(formula, weights = w, control = step, init.theta = m$theta, start = coef(m))
    } else {
        family <- family_of(fit)
        from <- function(...) tryCatch(glm(formula, family = family, weights = w, control = tight, ...),
                                       error = function(e) e)
        m <- from()
        if (inherits(m, "error") || !m$converged)
            m <- tryCatch(glm(formula, family = family, weights = w, control = tight, etastart = level),
                          error = function(e) e)
        for (i in seq_len(again)) if (!inherits(m, "error")) m <- from(start = ifelse(is.na(coef(m)), 0, coef(m)))
    }
    if (inherits(m, "error")) return(conditionMessage(m))
    quasi <- substr(fit$family, 1, 5) == "quasi"
    dispersion <- if (quasi || fit$family %in% c("gamma", "gaussian")) summary(m)$dispersion else 1
    s <- summary(m, dispersion = dispersion)
    estimates <- coef(m)
    errors <- rep(NA, length(estimates))
    errors[!is.na(estimates)] <- s$coefficients[, 2]
    first <- if (fit$intercept == "t") 0 else 1
    names(estimates) <- names(errors) <- first + seq_along(estimates) - 1
    l <- if (quasi) NA else logLik(m)
    estimates <- c(estimates, n = length(frame$y), df_residual = m$df.residual, rank = m$rank, deviance = m$deviance,
                   null_deviance = m$null.deviance, log_lik = as.numeric(l), aic = if (quasi) NA else AIC(m),
                   bic = if (quasi) NA else BIC(m), dispersion = dispersion)
    if (fit$theta == "ml") {
        estimates <- c(estimates, theta = m$theta)
        # glm.nb's own error is that of the step before the last, and theta.ml stops early
        errors <- c(errors, theta = attr(theta.ml(m$y, fitted(m), sum(w), w, limit = 100, eps = 1e-13), "SE"))
    }
    list(estimates, errors)
}

worst <- 0
near <- 0
count <- 0
for (key in unique(fits$key)) {
    lines <- fits[fits$key == key, ]
    fit <- lines[1, ]
    if (fit$l2 > 0 || any(is.infinite(lines$estimate))) next
    d <- rows[rows$dataset == fit$dataset, ]
    if (fit$family == "binomial" && any(abs(d$weight * d$y - round(d$weight * d$y)) > 1e-9 |
                                        d$weight != round(d$weight), na.rm = TRUE))
        lines <- lines[!lines$term %in% c("log_lik", "aic", "bic"), ]
    r <- fit_in_r(fit, d)
    if (is.null(r)) next
    if (is.character(r)) {
        cat(sprintf("%-75s %s\n", key, r))
        next
    }
    stopifnot(all(is.na(lines$estimate) == is.na(r[[1]][lines$term])))
    apart <- function(ours, theirs) max(abs(ours - theirs) / pmax(abs(ours), 1e-10), na.rm = TRUE)
    terms <- grepl("^[0-9]+$|theta", lines$term)
    off <- c(apart(lines$estimate[terms], r[[1]][lines$term[terms]]),
             apart(lines$std_error[terms], r[[2]][lines$term[terms]]),
             apart(lines$estimate[!terms], r[[1]][lines$term[!terms]]))
    count <- count + 1
    near <- near + (max(off) < 1e-8)
    worst <- max(worst, off)
    cat(sprintf("%-75s %.1e %.1e %.1e%s\n", key, off[1], off[2], off[3], if (max(off) >= 1e-8) "  <" else ""))
}
cat(sprintf("%d fits, %d within 1e-8, the farthest %.1e apart\n", count, near, worst))
