package main

import apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

func init() { groups = append(groups, apiextensions.AddToScheme) }
