# Writes interval_fits.csv, reference values of the test predict_interval: predictions of models of mtcars with their
# standard errors and limits, and leverages.
#
#     Rscript test/data/interval_reference.R
#
# Rows of new values have an i above 32. Generalized fits are run to the last digit; R's own default leaves them six.
# The limits are those of the linear predictor, through the link's inverse: of t if the dispersion is estimated, else of
# the normal distribution.

suppressPackageStartupMessages(library(MASS))
seen <- seq(1, 32, 3)
new <- transform(mtcars[c(2, 9, 20, 31), ], wt = 1.5 * wt, hp = hp / 2, qsec = qsec + 1)
new_i <- 32 + 1:4
to_the_end <- glm.control(epsilon = 1e-15, maxit = 200)
out <- NULL

keep <- function(model, i, kind, level, fit, se, lower, upper, leverage)
	out <<- rbind(out, data.frame(model = model, i = i, kind = kind, conf_level = level, fit = sprintf("%.17g", fit),
								  std_error = sprintf("%.17g", se), lower = sprintf("%.17g", lower),
								  upper = sprintf("%.17g", upper),
								  leverage = ifelse(is.na(leverage), "", sprintf("%.17g", leverage))))

linear <- function(model, formula) {
	m <- lm(formula, mtcars)
	leverage <- c(hatvalues(m)[seen], rep(NA, 4))
	values <- rbind(mtcars[seen, ], new)
	for (kind in c("confidence", "prediction")) {
		level <- if (kind == "confidence") 0.95 else 0.8
		p <- predict(m, values, interval = kind, level = level, se.fit = TRUE)
		se <- if (kind == "confidence") p$se.fit else sqrt(p$se.fit^2 + p$residual.scale^2)
		keep(model, c(seen, new_i), kind, level, p$fit[, "fit"], se, p$fit[, "lwr"], p$fit[, "upr"], leverage)
	}
}

generalized <- function(model, formula, family, dispersion = NULL, extrapolate = TRUE) {
	environment(formula) <- environment()
	m <- glm(formula, family, mtcars, control = to_the_end)
	# glm stops when the deviance does, which may leave estimates half their digits
	for (again in 1:20) {
		start <- coef(m)
		m <- glm(formula, family, mtcars, control = to_the_end, start = start)
	}
	values <- if (extrapolate) rbind(mtcars[seen, ], new) else mtcars[seen, ]
	i <- if (extrapolate) c(seen, new_i) else seen
	eta <- predict(m, values, type = "link", se.fit = TRUE, dispersion = dispersion)
	mu <- predict(m, values, type = "response", se.fit = TRUE, dispersion = dispersion)
	estimated <- is.null(dispersion) && !(m$family$family %in% c("binomial", "poisson"))
	q <- if (estimated) qt(0.975, m$df.residual) else qnorm(0.975)
	# R's own inverse of the logit ends at the machine's epsilon
	inverse <- if (m$family$link == "logit") plogis else m$family$linkinv
	a <- inverse(eta$fit - q * eta$se.fit)
	b <- inverse(eta$fit + q * eta$se.fit)
	keep(model, i, "confidence", 0.95, mu$fit, mu$se.fit, pmin(a, b), pmax(a, b),
		 c(hatvalues(m)[seen], rep(NA, length(i) - length(seen))))
}

linear("linear", mpg ~ wt + hp + qsec)
linear("factor", mpg ~ wt * factor(cyl))
linear("polynomial", mpg ~ poly(hp, 3) + wt)
linear("no intercept", mpg ~ wt + qsec - 1)
linear("mean", mpg ~ 1)
generalized("poisson", carb ~ wt + hp, poisson)
generalized("poisson factor", carb ~ wt + factor(cyl), poisson)
generalized("poisson sqrt", carb ~ wt + hp, poisson("sqrt"), extrapolate = FALSE)
generalized("poisson identity", carb ~ hp, poisson("identity"), extrapolate = FALSE)
generalized("quasipoisson", carb ~ wt + hp, quasipoisson)
generalized("logit", am ~ wt + hp, binomial)
generalized("probit", vs ~ wt, binomial("probit"))
generalized("cloglog", vs ~ wt, binomial("cloglog"))
generalized("gamma log", mpg ~ wt + hp, Gamma("log"))
generalized("gamma inverse", mpg ~ wt + hp, Gamma("inverse"), extrapolate = FALSE)
generalized("gamma identity", mpg ~ wt, Gamma("identity"), extrapolate = FALSE)
generalized("gaussian log", mpg ~ wt, gaussian("log"))
generalized("gaussian inverse", mpg ~ wt, gaussian("inverse"), extrapolate = FALSE)
generalized("negative binomial", carb ~ wt + hp, negative.binomial(2), dispersion = 1)
write.csv(out, "test/data/interval_fits.csv", row.names = FALSE, quote = FALSE)
