import {
  AppsV1Api,
  AuthenticationV1Api,
  BatchV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
  type RequestContext,
} from '@kubernetes/client-node';

/** The typed clients of one user, over kept-alive connections. */
export interface Api {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly batch: BatchV1Api;
  readonly authentication: AuthenticationV1Api;
  readonly coordination: CoordinationV1Api;
  readonly rbac: RbacAuthorizationV1Api;
  readonly custom: CustomObjectsApi;
}

type Dispatcher = ReturnType<RequestContext['getDispatcher']>;

/** Without this the client creates a dispatcher, and with it a TLS connection, for every request. */
class KeptConnections extends KubeConfig {
  private kept: Dispatcher;

  /** HTTP/1.1 only: over HTTP/2 a lost connection, as with a killed server, ends this process too. */
  override createDispatcherOptions(
    ...given: Parameters<KubeConfig['createDispatcherOptions']>
  ): ReturnType<KubeConfig['createDispatcherOptions']> {
    const options = super.createDispatcherOptions(...given);
    if (options.type !== 'agent') return options;
    const connect = { ...options.connect, allowH2: false };
    return { ...options, connect };
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    this.kept ??= context.getDispatcher();
    if (this.kept !== undefined) context.setDispatcher(this.kept);
  }
}

export function connect(kubeconfig: string): Api {
  const config = new KeptConnections();
  config.loadFromFile(kubeconfig);
  return {
    core: config.makeApiClient(CoreV1Api),
    apps: config.makeApiClient(AppsV1Api),
    batch: config.makeApiClient(BatchV1Api),
    authentication: config.makeApiClient(AuthenticationV1Api),
    coordination: config.makeApiClient(CoordinationV1Api),
    rbac: config.makeApiClient(RbacAuthorizationV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
  };
}

/** Lists are merged by their keys (conditions by type), as a kubelet patches a status. */
export const strategicMerge = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch);
export const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
