/** The connection to one Kubernetes cluster: one shared dispatcher for all requests and watches, and a deadline on every call. */

import {
  AuthenticationV1Api,
  BatchV1Api,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  Observable,
  RequestContext,
  ServerConfiguration,
} from '@kubernetes/client-node';
import type { HttpLibrary, ResponseContext } from '@kubernetes/client-node';
import { fetch } from 'undici';
import type { Dispatcher, Response } from 'undici';
import { KcoverError } from '../../contract/errors.ts';
import { kubeError } from './errors.ts';
import { requestUrl } from './request-url.ts';

/** Typed clients of one cluster. Calls throw the client's errors: pass them to `kubeError`. */
export interface Kube {
  readonly config: KubeConfig;
  readonly core: CoreV1Api;
  readonly batch: BatchV1Api;
  readonly custom: CustomObjectsApi;
  readonly coordination: CoordinationV1Api;
  readonly authentication: AuthenticationV1Api;
  readonly server: string;
  close(): Promise<void>;
}

export interface KubeOptions {
  /** Path of a kubeconfig file; without it the service account (`inCluster`) or kubectl's default. */
  readonly kubeconfig?: string;
  readonly inCluster?: boolean;
  /** Of the kubeconfig; its current one otherwise. */
  readonly context?: string;
  /** Deadline of one call, ms. */
  readonly timeoutMs?: number;
}

/** The client would create a dispatcher, and so a connection, for every request. This one keeps the first. */
class KeptConfig extends KubeConfig {
  #kept: Dispatcher | undefined;
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    super();
    this.#timeoutMs = timeoutMs;
  }

  /**
   * HTTP/1.1 only: when an HTTP/2 connection dies, streams that undici no longer listens to raise errors that end the process.
   * HTTP/1.1 also gives every watch its own connection.
   */
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
    this.#kept ??= context.getDispatcher();
    if (this.#kept) context.setDispatcher(this.#kept);
    context.setSignal(AbortSignal.timeout(this.#timeoutMs));
  }

  /** After a failure the next request opens a new connection, so that a dead connection or a rotated certificate is not kept. Requests in flight continue. */
  forgetConnection(): void {
    const old = this.#kept;
    this.#kept = undefined;
    old?.close().catch(() => undefined);
  }

  async destroyConnection(): Promise<void> {
    const old = this.#kept;
    this.#kept = undefined;
    await old?.destroy();
  }
}

class ForgetfulHttp implements HttpLibrary {
  readonly #http = new IsomorphicFetchHttpLibrary();
  readonly #config: KeptConfig;

  constructor(config: KeptConfig) {
    this.#config = config;
  }

  send(request: RequestContext): Observable<ResponseContext> {
    const answer = this.#http.send(request).toPromise();
    return new Observable(
      answer.catch((error: unknown) => {
        this.#config.forgetConnection();
        throw error;
      }),
    );
  }
}

/** Reads the configuration and creates the clients; connects with the first call. */
export function connectKube(options: KubeOptions): Kube {
  const config = new KeptConfig(options.timeoutMs ?? 10_000);
  if (options.kubeconfig !== undefined) config.loadFromFile(options.kubeconfig);
  else if (options.inCluster) config.loadFromCluster();
  else config.loadFromDefault();
  if (options.context !== undefined) {
    if (!config.getContextObject(options.context))
      throw new KcoverError('usage', `the kubeconfig has no context ${options.context}`, {
        remedy: 'kubectl config get-contexts',
      });
    config.setCurrentContext(options.context);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined)
    throw new KcoverError('kube.unreachable', 'the kubeconfig has no current cluster', {
      remedy: 'name another file, or kubectl config use-context',
    });

  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: { default: config },
    httpApi: new ForgetfulHttp(config),
  });
  return {
    config,
    core: new CoreV1Api(configuration),
    batch: new BatchV1Api(configuration),
    custom: new CustomObjectsApi(configuration),
    coordination: new CoordinationV1Api(configuration),
    authentication: new AuthenticationV1Api(configuration),
    server,
    close: () => config.destroyConnection(),
  };
}

export interface OpenRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: { readonly contentType: string; readonly text: string };
  /** Aborts the request; without one, the default deadline applies. */
  readonly signal?: AbortSignal;
}

/** One request over the shared connection; the answer is plain JSON, whatever its status. */
export async function openRequest(kube: Kube, request: OpenRequest): Promise<Response> {
  const url = requestUrl(kube.server, request.path, request.query);
  const context = new RequestContext(url.toString(), HttpMethod.GET);
  await kube.config.applySecurityAuthentication(context);
  const dispatcher = context.getDispatcher();
  const signal = request.signal ?? context.getSignal();
  const headers = {
    ...context.getHeaders(),
    'user-agent': 'kcover',
    ...(request.body && { 'content-type': request.body.contentType }),
  };
  try {
    return await fetch(url, {
      method: request.method,
      headers,
      ...(request.body && { body: request.body.text }),
      ...(signal && { signal }),
      ...(dispatcher && { dispatcher }),
    });
  } catch (error) {
    // An abort by the caller does not mean that the connection is broken.
    if (kube.config instanceof KeptConfig && !request.signal?.aborted) kube.config.forgetConnection();
    throw error;
  }
}

/** UID of the namespace `kube-system`: the identity of a cluster. */
export async function clusterUid(kube: Kube): Promise<string> {
  try {
    const namespace = await kube.core.readNamespace({ name: 'kube-system' });
    return namespace.metadata?.uid ?? '';
  } catch (error) {
    throw kubeError(error, 'read the namespace kube-system');
  }
}
