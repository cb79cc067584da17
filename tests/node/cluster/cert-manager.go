// cert-manager: its controllers and cainjector in one process, outside of the cluster.
// FEATURE_GATES=CAInjectorMerging=false makes cainjector replace caBundle, as it did before v1.19.
package main

import (
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/util/feature"
)

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}

func main() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig()))
	must(feature.DefaultMutableFeatureGate.Set(os.Getenv("FEATURE_GATES")))
	ctx, kubeconfig := ctrl.SetupSignalHandler(), os.Getenv("KUBECONFIG")
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, KubernetesAPIQPS: 20, KubernetesAPIBurst: 50,
		IssuerOptions:    controller.IssuerOptions{ClusterResourceNamespace: "cert-manager"},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 10},
	})
	must(err)
	var all sync.WaitGroup
	for name, construct := range controller.Known() {
		c, err := construct(factory)
		must(err)
		all.Go(func() { ctrl.Log.Info("controller", "name", name); must(c.Run(2, ctx)) })
	}
	shared, err := factory.Build()
	must(err)
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(err)
	config.UserAgent = "cainjector"
	kinds := runtime.NewScheme()
	must(scheme.AddToScheme(kinds))
	must(cmapi.AddToScheme(kinds))
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kinds, Metrics: metricsserver.Options{BindAddress: "0"}})
	must(err)
	must(cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{EnableCertificatesDataSource: true, EnabledReconcilersFor: map[string]bool{
		cainjector.MutatingWebhookConfigurationName: true, cainjector.ValidatingWebhookConfigurationName: true}}))
	must(mgr.Start(ctx))
	all.Wait()
}
