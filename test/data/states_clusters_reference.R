# states_clusters_reference.R: writes data with clusters, and cluster-robust covariances for each by R.
#
# Run in test/data, before states_clusters_reference.py:
#
#   Rscript states_clusters_reference.R
#
# Needs R with the packages sandwich, clubSandwich and AER. Writes states_clusters_rows.csv (dataset, y, x as an array,
# cluster1, cluster2) and states_clusters_r.csv (dataset, vcov, clusters, i, j, value; 17 digits):
#
#   grunfeld     AER: investment of 11 firms in 20 years; Grunfeld 1958
#   fatalities   AER: traffic fatalities of 48 states in 7 years; Stock and Watson 2007
#   petersen     sandwich: the first 100 firms, of 10 years, of the simulated panel of Petersen 2009
#   longley      datasets: 16 years, ill-conditioned; clusters are pairs of years. R's results have too few digits.
#
# CR0 and CR1 are sandwich's vcovCL, of types HC0 and HC1. CR3 is clubSandwich's CR3 times (G - 1) / G, and CR3J is
# computed from lm() without each cluster.
suppressMessages({library(sandwich); library(clubSandwich); library(AER)})
data("Grunfeld", package = "AER")
data("Fatalities", package = "AER")
data("PetersenCL", package = "sandwich")
Fatalities$rate <- Fatalities$fatal / Fatalities$pop * 10000
frames <- list(
    grunfeld = list(invest ~ value + capital, Grunfeld, as.integer(factor(Grunfeld$firm)), Grunfeld$year),
    fatalities = list(rate ~ beertax + drinkage + miles + unemp + income, Fatalities,
                      as.integer(Fatalities$state), as.integer(as.character(Fatalities$year))),
    petersen = list(y ~ x, subset(PetersenCL, firm <= 100), subset(PetersenCL, firm <= 100)$firm,
                    subset(PetersenCL, firm <= 100)$year),
    longley = list(Employed ~ ., longley, (longley$Year - 1947) %/% 2, longley$Year))
digits <- function(x) formatC(x, digits = 17, format = "g", width = 1)
rows <- NULL
fits <- NULL
entries <- function(name, vcov, clusters, v)
    for (i in seq_len(nrow(v))) for (j in seq_len(i))
        fits <<- rbind(fits, data.frame(dataset = name, vcov = vcov, clusters = clusters, i = i - 1, j = j - 1,
                                        value = digits(v[i, j])))
for (name in names(frames)) {
    frame <- frames[[name]]
    m <- lm(frame[[1]], frame[[2]])
    x <- model.matrix(m)[, -1, drop = FALSE]
    rows <- rbind(rows, data.frame(dataset = name, y = digits(model.response(model.frame(m))),
                                   x = paste0("\"{", apply(x, 1, function(r) paste(digits(r), collapse = ",")), "}\""),
                                   cluster1 = frame[[3]], cluster2 = frame[[4]]))
    if (name == "longley")
        next
    cluster <- frame[[3]]
    both <- list(cluster, frame[[4]])
    entries(name, "CR0", "1", vcovCL(m, cluster, type = "HC0", cadjust = FALSE))
    entries(name, "CR1", "1", vcovCL(m, cluster, type = "HC1"))
    # with two keys, sandwich's vcovCL takes each row as a cluster of both
    entries(name, "CR1", "1+2", vcovCL(m, both[[1]], type = "HC1") + vcovCL(m, both[[2]], type = "HC1") -
            vcovCL(m, interaction(both, drop = TRUE), type = "HC1"))
    g <- length(unique(cluster))
    entries(name, "CR3", "1", as.matrix(vcovCR(m, cluster, type = "CR3")) * (g - 1) / g)
    without <- sapply(unique(cluster), function(k) coef(lm(frame[[1]], frame[[2]][cluster != k, ])))
    entries(name, "CR3J", "1", tcrossprod(without - rowMeans(without)) * (g - 1) / g)
}
write.table(rows, "states_clusters_rows.csv", sep = ",", row.names = FALSE, quote = FALSE)
write.table(fits, "states_clusters_r.csv", sep = ",", row.names = FALSE, quote = FALSE)
