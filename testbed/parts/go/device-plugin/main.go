// A device plugin that offers the devices which a file lists. A line is `ID Healthy` or `ID Unhealthy`.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

var (
	resource = flag.String("resource", "nvidia.com/gpu", "name of the extended resource")
	list     = flag.String("devices", "", "file that lists the devices")
)

const socketName = "testbed-gpu.sock"

type plugin struct {
	api.UnimplementedDevicePluginServer
}

func main() {
	flag.Parse()
	socket := filepath.Join(api.DevicePluginPath, socketName)
	for {
		server, err := offer(socket)
		if err == nil {
			// A kubelet that starts removes all sockets, and wants every plugin to register again.
			for err == nil {
				time.Sleep(200 * time.Millisecond)
				_, err = os.Stat(socket)
			}
		}
		log.Printf("registering again: %v", err)
		if server != nil {
			server.Stop()
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// Serves on the socket and registers it.
func offer(socket string) (*grpc.Server, error) {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, plugin{})
	go server.Serve(listener)
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return server, err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: socketName, ResourceName: *resource}
	if _, err := api.NewRegistrationClient(connection).Register(ctx, request); err != nil {
		return server, err
	}
	log.Printf("registered %s", *resource)
	return server, nil
}

func (plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// Sends the list at once, and again whenever the file has changed.
func (plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	last := ""
	for {
		text, err := os.ReadFile(*list)
		if err != nil {
			return err
		}
		if string(text) != last {
			last = string(text)
			if err := stream.Send(&api.ListAndWatchResponse{Devices: parse(last)}); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		envs := map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")}
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerAllocateResponse{Envs: envs})
	}
	return answer, nil
}

func parse(text string) []*api.Device {
	var devices []*api.Device
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		id, health, found := strings.Cut(line, " ")
		if found {
			devices = append(devices, &api.Device{ID: id, Health: health})
		}
	}
	return devices
}
