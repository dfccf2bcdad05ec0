# Writes augment_fits.csv: what the test augment compares gpu_augment with, from R's residuals, rstandard, rstudent,
# hatvalues, cooks.distance and dffits.
#
#      Rscript test/data/augment_reference.R > test/data/augment_fits.csv
#
# Needs R's package MASS. Fits are run to the last digit; R's default leaves them six.

suppressPackageStartupMessages(library(MASS))
to_the_end <- glm.control(epsilon = 1e-15, maxit = 100)
cat("model,row,fitted,residual,pearson,deviance,working,std_residual,student,hat,cooks_distance,dffits\n")
number <- function(x) ifelse(is.finite(x), sprintf("%.17g", x), "")
show <- function(model, m) {
	w <- if (is.null(m$prior.weights)) { if (is.null(m$weights)) 1 else m$weights } else m$prior.weights
	e <- fitted(m)
	y <- e + (if (inherits(m, "glm")) residuals(m, "response") else residuals(m))
	h <- hatvalues(m)
	d <- if (inherits(m, "glm")) residuals(m, "deviance") else sqrt(w) * residuals(m)
	p <- if (inherits(m, "glm")) residuals(m, "pearson") else sqrt(w) * residuals(m)
	# the dispersion of a given theta is 1, as in glm.nb, where summary.glm would estimate it
	nb <- inherits(m, "glm") && startsWith(family(m)$family, "Negative")
	std <- if (nb) d / sqrt(1 - h) else rstandard(m)
	cook <- if (nb) (p / (1 - h))^2 * h / m$rank else cooks.distance(m)
	work <- if (inherits(m, "glm")) residuals(m, "working") else residuals(m)
	out <- cbind(e, y - e, p, d, work, std, rstudent(m), h, cook, dffits(m))
	for (i in seq_len(nrow(out)))
		cat("\"", model, "\",", i, ",", paste(number(out[i, ]), collapse = ","), "\n", sep = "")
}
# R's working weights are those of the step before the last one, so that fits begin anew at their ends
fit <- function(formula, family, data = mtcars, ...) {
	call <- substitute(glm(formula, family, data, control = to_the_end, ...))
	m <- eval(call, parent.frame())
	for (i in 1:40) {
		call$start <- coef(m)
		m <- eval(call, parent.frame())
	}
	m
}
show("linear", lm(mpg ~ wt + hp, mtcars))
show("linear, weights", lm(mpg ~ wt + hp, mtcars, weights = carb))
show("linear, factor", lm(mpg ~ wt * factor(cyl), mtcars))
show("linear, offset", lm(mpg ~ wt, mtcars, offset = hp / 100))
show("linear, square", lm(mpg ~ poly(hp, 2, raw = TRUE), mtcars))
show("logistic", fit(am ~ wt + hp, binomial))
show("infert", fit(case ~ age + parity + induced + spontaneous, binomial, infert))
show("probit", fit(am ~ wt, binomial("probit")))
show("trials", fit(am / 2 + 0.25 ~ wt, quasibinomial, weights = 4 * carb))
show("poisson", fit(carb ~ wt + qsec, poisson, offset = log(cyl)))
show("quasipoisson", fit(carb ~ wt, quasipoisson))
show("gamma", fit(mpg ~ wt + hp, Gamma("log"), weights = gear))
show("gamma, inverse", fit(mpg ~ wt, Gamma))
show("sqrt", fit(carb ~ hp, poisson("sqrt")))
show("negative binomial", fit(carb ~ wt, negative.binomial(2)))
