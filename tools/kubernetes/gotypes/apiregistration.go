package main

import apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

func init() { groups = append(groups, apiregistration.AddToScheme) }
