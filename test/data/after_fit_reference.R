# Prints reference values that the SQL of the tests compare, summary and score contains.
#
#      Rscript test/data/after_fit_reference.R
#
# Needs R's packages MASS and car. Logistic fits are run to the last digit; R's default leaves them six.

suppressPackageStartupMessages({library(MASS); library(car)})
show <- function(what, ...) cat(sprintf("%-24s", what), sprintf("%.17g", c(...)), "\n")
to_the_end <- glm.control(epsilon = 1e-15, maxit = 50)
glm_of <- function(formula, family) glm(formula, family, mtcars, control = to_the_end)

# linear models
a <- lm(mpg ~ wt, mtcars)
b <- lm(mpg ~ wt + hp + qsec, mtcars)
test <- anova(a, b)
show("anova, F", test[["Sum of Sq"]][2], test$F[2], test[["Pr(>F)"]][2])
all <- linearHypothesis(b, c("wt = 0", "hp = 0", "qsec = 0"))
show("linearHypothesis, all", all$F[2], all[["Pr(>F)"]][2])
show("... hp, qsec", linearHypothesis(b, c("hp = 0", "qsec = 0"))$F[2])
show("vif", vif(b))
show("vif, longley", vif(lm(Employed ~ ., longley)))

# generalized linear models
g <- glm_of(am ~ wt, binomial)
h <- glm_of(am ~ wt + hp, binomial)
test <- anova(g, h, test = "LRT")
show("anova, logistic", test$Deviance[2], test[["Pr(>Chi)"]][2])
w <- sum(coef(h)[2:3] * solve(vcov(h)[2:3, 2:3], coef(h)[2:3]))
show("Wald, logistic", w, pchisq(w, 2, lower.tail = FALSE))
show("vif, logistic", vif(h))
for (case in list(list(mpg ~ wt, mpg ~ wt + hp + qsec, Gamma("log")), list(am ~ wt, am ~ wt + hp, quasibinomial))) {
	small <- glm_of(case[[1]], case[[3]])
	large <- glm_of(case[[2]], case[[3]])
	test <- anova(small, large, test = "F")
	show(family(small)$family, deviance(small), deviance(large), summary(large)$dispersion, test$F[2],
		 test[["Pr(>F)"]][2])
}
small <- glm_of(carb ~ wt, poisson)
large <- glm_of(carb ~ wt + hp, poisson)
test <- anova(small, large, test = "LRT")
show("poisson", deviance(small), deviance(large), test$Deviance[2], test[["Pr(>Chi)"]][2])
show("McFadden", large$null.deviance, logLik(large), 1 - logLik(large) / logLik(glm_of(carb ~ 1, poisson)))
small <- glm.nb(Days ~ Sex, quine)
large <- glm.nb(Days ~ Sex + Age + Eth, quine)
test <- anova(small, large)
show("negative binomial", small$theta, large$theta, deviance(small), deviance(large), logLik(small), logLik(large),
	 test[["LR stat."]][2], test[["Pr(Chi)"]][2])

# scores
wilcoxon <- wilcox.test(mpg ~ am, mtcars, exact = FALSE)
show("AUC", 1 - wilcoxon$statistic / (sum(mtcars$am == 0) * sum(mtcars$am == 1)))
show("Brier", mean((fitted(h) - mtcars$am)^2))

# gpu_summary's output
print(summary(lm(mpg ~ wt + hp, mtcars)))
print(summary(glm(am ~ wt + hp, binomial, mtcars)))
print(summary(lm(mpg ~ wt + hp + I(2 * wt) + ifelse(qsec > 15, qsec, NA), mtcars)))
print(summary(lm(mpg ~ . - cyl, mtcars)))
print(summary(lm(mpg ~ 1, mtcars)))
print(summary(lm(mpg ~ wt + qsec - 1, mtcars)))
print(summary(lm(I(1e-9 * mpg) ~ I(1e12 * wt) + hp, mtcars)))
print(summary(lm(mpg ~ wt + I(1e9 * hp), mtcars)))
