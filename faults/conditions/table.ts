/**
 * Conditions that others write on Node objects. CoreWeave's are not here: its documentation forbids automation by them.
 * Sources: the code and documents of each writer; the page docs/node-conditions.md lists all rows with their responses.
 */

import { type ConditionRow, rowsOf } from './row.ts';

const minute = 60_000;
/** Of a check of software that comes and goes. */
const flaps = 5 * minute;

/** Its log monitors never clear a condition; only its restart does. */
const nodeProblemDetector = rowsOf(
  { owner: 'node-problem-detector', bad: 'True' },
  {
    KernelDeadlock: { meaning: 'tasks of the kernel or of Docker hang' },
    // Any read-only remount matches, also that of the volume of one pod.
    ReadonlyFilesystem: { meaning: 'a file system was remounted read-only, perhaps the volume of one pod' },
    XfsShutdown: { meaning: 'an XFS file system was shut down' },
    CperHardwareErrorFatal: { meaning: 'the firmware reported a fatal hardware error', action: 'contact-support' },
    CorruptDockerOverlay2: { meaning: 'the overlay2 storage of Docker is corrupt' },
    FrequentUnregisterNetDevice: { meaning: 'network devices are not released' },
    FrequentKubeletRestart: { meaning: 'the kubelet restarts again and again' },
    FrequentDockerRestart: { meaning: 'Docker restarts again and again' },
    FrequentContainerdRestart: { meaning: 'containerd restarts again and again' },
    KubeletUnhealthy: { meaning: 'the kubelet does not answer its health check', debounceMs: flaps },
    ContainerRuntimeUnhealthy: { meaning: 'the container runtime does not answer', debounceMs: flaps },
    // Its reason is the same in both states: only the status counts.
    DiskBadBlock: { meaning: 'a disk has bad blocks' },
    NTPProblem: { meaning: 'the clock is not synchronised', debounceMs: flaps },
  },
);

/** It never sets a condition back but by its own restart, which sets all of them back. */
const eksNodeMonitoring = rowsOf(
  { owner: 'EKS node monitoring agent', bad: 'False' },
  {
    AcceleratedHardwareReady: { meaning: 'a GPU or Neuron device is broken', replacedAfterMs: 10 * minute },
    KernelReady: { meaning: 'the kernel has a fatal problem', replacedAfterMs: 30 * minute },
    NetworkingReady: { meaning: 'the network of the node is broken', replacedAfterMs: 30 * minute },
    StorageReady: { meaning: 'storage of the node is broken', replacedAfterMs: 30 * minute },
    ContainerRuntimeReady: { meaning: 'the container runtime is broken', replacedAfterMs: 30 * minute },
  },
);

const aks = rowsOf(
  { owner: 'AKS node problem detector', bad: 'True' },
  {
    GPUMissing: { meaning: 'a GPU of the node is missing', action: 'reboot' },
    NVLinkStatusInactive: { meaning: 'an NVLink is inactive', action: 'reset-gpu' },
    // It does not name the Xid, which may be that of an application.
    XIDErrors: { meaning: 'the driver reported Xids' },
    GPUXIDErrors: { meaning: 'the driver reported Xids' },
    IBLinkFlapping: { meaning: 'an InfiniBand link flaps' },
    GPUClockThrottling: { meaning: 'the clock of a GPU is throttled', debounceMs: flaps },
    UnhealthyNvidiaDevicePlugin: { meaning: 'the device plugin of NVIDIA does not work', observerLost: true },
    FilesystemCorruptionProblem: { meaning: 'a file system is corrupt' },
    KubeletProblem: { meaning: 'the kubelet does not work', debounceMs: flaps },
    ContainerRuntimeProblem: { meaning: 'the container runtime does not work', debounceMs: flaps },
    VMEventScheduled: { meaning: 'Azure has scheduled an event for the virtual machine', action: 'ignore' },
  },
);

/** Its recommended action is taken; `nvsentinel.ts` reads it. Every other check of it is known by its reason, `<type>IsNotHealthy`. */
export const nvsentinelCheck: ConditionRow = {
  type: '*',
  owner: 'NVSentinel',
  bad: 'True',
  meaning: 'a check of NVSentinel failed',
};

const nvsentinel = rowsOf(
  { owner: 'NVSentinel', bad: 'True' },
  {
    GpuMemWatch: { meaning: 'DCGM reports a memory fault of a GPU' },
    GpuThermalWatch: { meaning: 'DCGM reports a thermal fault of a GPU' },
    GpuPcieWatch: { meaning: 'DCGM reports a PCIe fault of a GPU' },
    GpuPowerWatch: { meaning: 'DCGM reports a power fault of a GPU' },
    GpuInforomWatch: { meaning: 'the InfoROM of a GPU is corrupt' },
    GpuSmWatch: { meaning: 'DCGM reports a fault of streaming multiprocessors' },
    GpuNvlinkWatch: { meaning: 'DCGM reports a fault of an NVLink' },
    GpuMcuWatch: { meaning: 'DCGM reports a fault of the microcontroller of a GPU' },
    GpuPmuWatch: { meaning: 'DCGM reports a fault of the power management unit of a GPU' },
    GpuDriverWatch: { meaning: 'DCGM reports a fault of the driver' },
    GpuCpusetWatch: { meaning: 'DCGM reports a wrong CPU affinity of a GPU' },
    SysLogsXIDError: { meaning: 'the kernel log has an Xid' },
    SysLogsSXIDError: { meaning: 'the kernel log has an SXid' },
    SysLogsGPUFallenOff: { meaning: 'a GPU has fallen off the bus' },
    SysLogsNICDriverError: { meaning: 'the driver of a network card reports an error' },
    NVSwitchFatalError: { meaning: 'an NVSwitch reports a fatal error' },
    NVSwitchDown: { meaning: 'an NVSwitch is down' },
    DCGMError: { meaning: 'NVSentinel cannot reach DCGM', observerLost: true },
    CSPMaintenance: { meaning: 'the cloud provider has scheduled maintenance of the machine' },
    RepeatedXIDErrorOnSameGPU: { meaning: 'the same GPU reports Xids again and again' },
    MultipleRemediations: { meaning: 'the node was remedied again and again', action: 'contact-support' },
  },
);

const nebius = rowsOf(
  { owner: 'Nebius', bad: 'True' },
  {
    NebiusGPUError: { meaning: 'a GPU is broken; Nebius replaces the node', action: 'contact-support' },
    NebiusBootDiskIOError: { meaning: 'the boot disk fails; Nebius replaces the node', action: 'contact-support' },
  },
);

/** The published table is cut off, so every type with its prefix is read. */
const modelArts = rowsOf(
  { owner: 'ModelArts', bad: 'True' },
  {
    NT_NPU_DEVICE: { meaning: 'the driver reports a problem of at least one NPU', action: 'reboot' },
    NT_NPU_NET: { meaning: 'the network link of an NPU is abnormal', action: 'reboot' },
    NT_NPU_CARD_LOSE: { meaning: 'the node offers fewer NPUs than it should have', action: 'reboot' },
    NT_NPU_OTHER: { meaning: 'an NPU has a fault that does not clear by itself', action: 'contact-support' },
    NT_NPU_ECC_COUNT: { meaning: '64 or more addresses of the HBM were retired', action: 'contact-support' },
    NT_NET_NTP_CHECK: { meaning: 'the time service is broken', debounceMs: flaps },
    NT_KUBE_DISK_READONLY_CHECK: { meaning: 'the disk of the kubelet is read-only' },
    'NT_NPU_*': { meaning: 'a fault of an NPU that is not in the published table', action: 'contact-support' },
    'NT_GPU_*': { meaning: 'a fault of a GPU that is not in the published table', action: 'contact-support' },
    'NT_*': { meaning: 'a fault that is not in the published table' },
  },
);

/** States that a person or a program set on purpose, and no faults. */
const kubernetes = rowsOf(
  { owner: 'Kubernetes', bad: 'True' },
  {
    DrainInProgress: { meaning: 'the node is being drained', action: 'ignore' },
    Drained: { meaning: 'the node was drained', action: 'ignore' },
    MaintenancePlanned: { meaning: 'maintenance of the node is planned', action: 'ignore' },
    MaintenanceInProgress: { meaning: 'the node is under maintenance', action: 'ignore' },
    GracefulNodeShutdownInProgress: { meaning: 'the node shuts down', action: 'ignore' },
  },
);

export const conditionTable: readonly ConditionRow[] = [
  ...nodeProblemDetector,
  ...eksNodeMonitoring,
  ...aks,
  ...nvsentinel,
  ...nebius,
  ...modelArts,
  ...kubernetes,
];
