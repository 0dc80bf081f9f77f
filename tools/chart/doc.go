// Package chart tests the Helm chart in deploy/chart. The tests that render it need Helm, in the PATH or as $TEST_HELM:
//
//	go install helm.sh/helm/v3/cmd/helm@v3.22.0
//
// Without Helm, these tests check Helm's last output, which is in testdata together with the input values.
package chart
