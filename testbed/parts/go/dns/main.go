// A DNS server for the Services of a cluster, and for the pods behind those without an address of their own.
// It answers A queries below svc.cluster.local and knows no other names.
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "how to reach the API server")
	listen     = flag.String("listen", "", "address and port for queries")
	ready      = flag.String("ready", "", "address and port that answer HTTP as soon as names are known")
)

const (
	zone = ".svc.cluster.local."
	// Short, because a test waits for every change.
	ttl = 1
)

type cluster struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

func main() {
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	known := cluster{factory.Core().V1().Services().Lister(), factory.Discovery().V1().EndpointSlices().Lister()}
	factory.Core().V1().Services().Informer()
	factory.Discovery().V1().EndpointSlices().Informer()
	never := make(chan struct{})
	factory.Start(never)
	factory.WaitForCacheSync(never)
	connection, err := net.ListenPacket("udp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		log.Fatal(http.ListenAndServe(*ready, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	}()
	buffer := make([]byte, 4096)
	for {
		size, from, err := connection.ReadFrom(buffer)
		if err != nil {
			log.Fatal(err)
		}
		answer, err := known.answer(buffer[:size])
		if err != nil {
			log.Printf("query from %s: %v", from, err)
			continue
		}
		if _, err := connection.WriteTo(answer, from); err != nil {
			log.Printf("answer to %s: %v", from, err)
		}
	}
}

func (known cluster) answer(query []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	addresses, exists := known.lookUp(strings.ToLower(question.Name.String()))
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired},
		Questions: []dnsmessage.Question{question},
	}
	if !exists {
		reply.RCode = dnsmessage.RCodeNameError
	}
	if question.Type == dnsmessage.TypeA {
		for _, address := range addresses {
			resource := dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: ttl}
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: resource, Body: &dnsmessage.AResource{A: address}})
		}
	}
	return reply.Pack()
}

// The name is SERVICE.NAMESPACE, or HOSTNAME.SERVICE.NAMESPACE of a pod behind a headless Service.
func (known cluster) lookUp(name string) (addresses [][4]byte, exists bool) {
	short, found := strings.CutSuffix(name, zone)
	if !found {
		return nil, false
	}
	parts := strings.Split(short, ".")
	hostname := ""
	if len(parts) == 3 {
		hostname, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 {
		return nil, false
	}
	service, err := known.services.Services(parts[1]).Get(parts[0])
	if err != nil {
		return nil, false
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		if hostname != "" {
			return nil, false
		}
		return add(nil, service.Spec.ClusterIP), true
	}
	slices, err := known.slices.EndpointSlices(parts[1]).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: parts[0]}))
	if err != nil {
		return nil, false
	}
	for _, slice := range slices {
		for _, endpoint := range slice.Endpoints {
			isReady := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			isMeant := hostname == "" || (endpoint.Hostname != nil && *endpoint.Hostname == hostname)
			if isReady && isMeant {
				addresses = add(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses, len(addresses) > 0
}

func add(addresses [][4]byte, texts ...string) [][4]byte {
	for _, text := range texts {
		if v4 := net.ParseIP(text).To4(); v4 != nil {
			addresses = append(addresses, [4]byte(v4))
		}
	}
	return addresses
}
