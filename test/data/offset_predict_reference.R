# Reference values of the test `offset_predict`: R's predict(), hatvalues() and average marginal effects of models with
# offsets.
#
#     Rscript test/data/offset_predict_reference.R > test/data/offset_predict.csv

rows <- data.frame(
    id = 1:12, claims = c(3, 0, 7, 12, 1, 5, 9, 2, 14, 4, 6, 8), age = c(2, 5, 3, 8, 1, 6, 7, 2.5, 9, 4, 3.5, 5.5),
    kind = c("a", "b", "a", "c", "b", "c", "a", "b", "c", "a", "b", "c"),
    o = log(c(30, 10, 60, 90, 20, 40, 75, 15, 120, 45, 50, 55)), w = c(1, 2, 1, 1, 3, 1, 2, 1, 1, 2, 1, 1),
    hit = c(0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0))
fits <- list(
    poisson = glm(claims ~ age, poisson, rows, offset = o),
    factors = glm(claims ~ age + kind, poisson, rows, offset = o, weights = w),
    logistic = glm(hit ~ age, binomial, rows, offset = o - 4, control = list(epsilon = 1e-14)),
    gaussian = glm(claims ~ age, gaussian, rows, offset = o))
cat("fit,id,mean,std_error,leverage,effect\n")
for (name in names(fits)) {
    fit <- update(fits[[name]], control = list(epsilon = 1e-15, maxit = 100))
    # R's covariances are those of the step before the last, which starts at the estimates here
    fit <- update(fit, start = coef(fit), control = list(epsilon = 1e-15, maxit = 100))
    p <- predict(fit, type = "response", se.fit = TRUE)
    eta <- predict(fit, type = "link", se.fit = TRUE)
    h <- hatvalues(fit) / weights(fit, type = "prior")
    slope <- fit$family$mu.eta(predict(fit)) * coef(fit)["age"]
    cat(sprintf("%s,%d,%.15g,%.15g,%.15g,%.15g\n", name, rows$id, p$fit, eta$se.fit, h, mean(slope)), sep = "")
}
