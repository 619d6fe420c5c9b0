/** Versions of the testbed's parts. A change here is a new directory in the cache. */
export const versions = {
  kubernetes: 'v1.36.3',
  kwok: 'v0.8.0',
  trainingOperator: 'v1.8.1',
  /** Their controllers run in one tier of the tests only. */
  trainer: 'v2.0.0',
  jobset: 'v0.10.1',
  lws: 'v0.7.0',
  mpiOperator: 'v0.6.0',
  kuberay: 'v1.4.2',
  /** Compiled against Kubernetes 1.35; runs in one tier of the tests only. */
  kueue: 'v0.16.1',
  /** Runs in one tier of the tests only. */
  loki: 'v3.7.8',
  helm: 'v4.3.1',
  /** For real nodes; their kubelet and kube-proxy have the version of Kubernetes. */
  containerd: 'v2.4.2',
  runc: 'v1.5.2',
  /** Source of the packages in images. */
  debian: 'bookworm',
  /** The wheel on PyPI; contains server 1.32.0. */
  temporalWheel: '1.9.1',
  /** Oldest Temporal server that can skip time in running workflows. */
  temporalServer: [1, 32],
  /** Newest tag that `go install` accepts (server 1.29, cannot skip time). */
  temporalModule: 'v1.5.1',
  /** Only builds images; the images themselves have no npm. */
  npm: '11.19.1',
  go: [1, 26],
  goWheel: '1.26.6',
} as const;
