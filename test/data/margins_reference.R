# Computes the effects of margins_fits.csv with R's glm and vcov, and prints the differences:
#
#     Rscript test/data/margins_reference.R test/data
#
# A line per model: the largest relative difference of estimates and of standard errors; at the end the largest of all.
# The derivative of the link's inverse is R's own; that of the predictor, and J, are differences, as in the packages
# margins and marginaleffects. With R 4.2.2 estimates agree to 1e-13 and standard errors to 5e-8. Needs MASS and
# numDeriv; no part of the tests.
suppressPackageStartupMessages({library(MASS); library(numDeriv)})
options(warn = -1)
folder <- commandArgs(TRUE)[1]
fits <- read.csv(file.path(folder, "margins_fits.csv"))
infert <- read.csv(file.path(folder, "reference", "infert_case.csv"))
rows <- read.csv(file.path(folder, "glm_rows.csv"), colClasses = c(x = "character"))
features <- function(name) {
    d <- rows[rows$dataset == name, ]
    x <- do.call(rbind, lapply(strsplit(gsub("[{}]", "", d$x), ","), as.numeric))
    colnames(x) <- paste0("x", seq_len(ncol(x)))
    data.frame(y = d$y, weight = d$weight, x)
}
beetles <- features("beetles")
budworm <- features("budworm")
to_the_end <- glm.control(epsilon = 1e-15, maxit = 200)
worst <- c(0, 0)

# Compares a model's effects. steps: list(name, column, from, to); trials: averages have the fit's weights
compare <- function(model, formula, family, data, numbers, steps = NULL, dispersion = NULL, weight = NULL,
                    trials = FALSE) {
    data$weight_ <- if (is.null(weight)) 1 else data[[weight]]
    m <- glm(formula, family, data, weights = weight_, control = to_the_end)
    for (again in 1:20) m <- glm(formula, family, data, weights = weight_, control = to_the_end, start = coef(m))
    share <- if (trials) data$weight_ else rep(1, nrow(data))
    terms <- delete.response(terms(m))
    eta <- function(b, d) as.vector(model.matrix(terms, model.frame(terms, d)) %*% b) +
        if (model == "poisson offset") d$hp / 128 else 0
    changed <- function(name, value) { d <- data; d[[name]] <- value; d }
    # the predictors are polynomials of at most the third degree, for which this difference has only rounding error
    effect <- function(name) function(b) {
        at <- function(h) eta(b, changed(name, data[[name]] + h))
        weighted.mean(m$family$mu.eta(eta(b, data)) * (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12, share)
    }
    mean_of <- function(b, d) weighted.mean(m$family$linkinv(eta(b, d)), share)
    difference <- function(s) function(b)
        mean_of(b, changed(s[[2]], s[[4]])) - mean_of(b, changed(s[[2]], s[[3]]))
    effects <- c(setNames(lapply(numbers, effect), numbers),
                 setNames(lapply(steps, difference), vapply(steps, `[[`, "", 1)))
    V <- if (is.null(dispersion)) vcov(m) else summary(m, dispersion = dispersion)$cov.scaled
    for (name in names(effects)) {
        J <- grad(effects[[name]], coef(m), method.args = list(r = 6))
        want <- fits[fits$model == model & fits$term == name, ]
        off <- abs(c(effects[[name]](coef(m)), sqrt(drop(t(J) %*% V %*% J))) /
                   c(want$estimate, want$std_error) - 1)
        cat(sprintf("%-26s %-16s %.1e %.1e\n", model, name, off[1], off[2]))
        worst <<- pmax(worst, off)
    }
}

both <- c("wt", "hp")
cyl <- list(list("cyl[6]", "cyl", 4, 6), list("cyl[8]", "cyl", 4, 8))
spontaneous <- list(list("spontaneous[1]", "spontaneous", 0, 1), list("spontaneous[2]", "spontaneous", 0, 2))
f <- function(x, levels) factor(x, levels = levels)
c3 <- c(4, 6, 8)
compare("linear", mpg ~ wt + hp, gaussian, mtcars, both)
compare("polynomial", mpg ~ hp + I(hp^2) + I(hp^3) + wt * qsec, gaussian, mtcars, c("hp", "wt", "qsec"))
compare("factor", mpg ~ wt * f(cyl, c3) + qsec, gaussian, mtcars, c("wt", "qsec"), cyl)
compare("number and factor", mpg ~ wt:cyl + f(cyl, c3), gaussian, mtcars, "wt", cyl)
compare("boolean", mpg ~ wt * am, gaussian, mtcars, "wt", list(list("manual", "am", 0, 1)))
compare("powers by level", mpg ~ wt:f(cyl, c3) + I(wt^2):f(cyl, c3) - 1, gaussian("log"), mtcars, "wt", cyl)
compare("gaussian log", mpg ~ wt + hp, gaussian("log"), mtcars, both)
compare("gaussian inverse", mpg ~ wt + hp, gaussian("inverse"), mtcars, both)
compare("logit", am ~ wt + hp, binomial, mtcars, both)
compare("probit", vs ~ wt, binomial("probit"), mtcars, "wt")
compare("cloglog", vs ~ wt, binomial("cloglog"), mtcars, "wt")
for (link in c("logit", "probit", "cloglog"))
    compare(paste("infert", link), case ~ f(spontaneous, 0:2) * age + parity, binomial(link), infert,
            c("age", "parity"), spontaneous)
compare("poisson", carb ~ wt * hp, poisson, mtcars, both)
compare("poisson factor", carb ~ wt + f(cyl, c3), poisson, mtcars, "wt", cyl)
compare("poisson sqrt", carb ~ wt + hp, poisson("sqrt"), mtcars, both)
compare("poisson identity", carb ~ hp, poisson("identity"), mtcars, "hp")
compare("poisson offset", carb ~ wt + offset(hp / 128), poisson, mtcars, "wt")
compare("quasipoisson", carb ~ wt + hp, quasipoisson, mtcars, both)
compare("gamma inverse", mpg ~ wt + hp, Gamma("inverse"), mtcars, both)
compare("gamma log", mpg ~ (wt + I(wt^2)) * hp, Gamma("log"), mtcars, both)
compare("gamma identity", mpg ~ wt, Gamma("identity"), mtcars, "wt")
compare("negative binomial", carb ~ wt + hp, negative.binomial(2), mtcars, both, dispersion = 1)
for (link in c("logit", "probit", "cloglog")) {
    compare(paste("beetles", link), y ~ x1, binomial(link), beetles, "x1", weight = "weight")
    compare(paste("beetles", link, "by trials"), y ~ x1, binomial(link), beetles, "x1", weight = "weight",
            trials = TRUE)
}
compare("budworm", y ~ x1 + x2 + x3, binomial, budworm, c("x1", "x2", "x3"), weight = "weight")
cat(sprintf("%-26s %-16s %.1e %.1e\n", "largest", "", worst[1], worst[2]))
