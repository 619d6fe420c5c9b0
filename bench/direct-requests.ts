/** The floor: the same requests sent directly over one kept-alive connection, without decisions, records or workflows. */

import { readFileSync } from 'node:fs';
import { Client } from 'undici';
import { parse } from 'yaml';
import type { RunningJob } from '../testbed/jobs.ts';
import { now } from './clock.ts';
import type { Variant } from './variants.ts';
import type { ClusterObserver } from './cluster-observer.ts';

/** A taint of the same size as kcover's, under a key that kcover does not know. */
export const directTaint = { key: 'bench.kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' } as const;

export interface DirectRestart {
  readonly began: number;
  readonly tainted: number;
  readonly stopBegan: number;
  readonly firstDeleted: number;
  readonly newRunning: number;
}

export class DirectRequests {
  readonly #client: Client;
  readonly #token: string;

  constructor(kubeconfig: string) {
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
    if (cluster === undefined || user === undefined) throw new Error(`${kubeconfig} names no cluster or no user`);
    const data = cluster['certificate-authority-data'];
    const ca =
      data === undefined
        ? readFileSync(cluster['certificate-authority'] ?? '', 'utf8')
        : Buffer.from(data, 'base64').toString();
    this.#client = new Client(cluster.server, { connect: { ca } });
    this.#token = user.token;
  }

  /** Taints the node, stops the pods, lets them come back, and returns when each step was seen. */
  async restart(
    observer: ClusterObserver,
    job: RunningJob,
    node: string,
    { by, hastened }: Pick<Variant, 'by' | 'hastened'>,
  ): Promise<DirectRestart> {
    const seen = observer.restartOf(job, new Set(observer.podsOf(job).map((pod) => pod.metadata?.uid ?? '')));
    const tainted = observer.tainted(node, directTaint.key);
    const began = now();
    await this.#patch(`/api/v1/nodes/${node}`, {
      metadata: { annotations: { 'bench.kcover.io/because': 'GPU has fallen off the bus' } },
      spec: { taints: [directTaint] },
    });
    const stopBegan = now();
    if (by === 'suspend') {
      await this.#suspend(job, true);
      if (hastened) await this.#deletePods(job);
      await seen.oldGone;
      await this.#suspend(job, false);
    } else {
      await this.#deletePods(job);
    }
    return {
      began,
      tainted: await tainted,
      stopBegan,
      firstDeleted: await seen.firstDeleted,
      newRunning: await seen.newRunning,
    };
  }

  async untaint(observer: ClusterObserver, node: string): Promise<void> {
    await this.#patch(`/api/v1/nodes/${node}`, { spec: { taints: null } });
    await observer.tainted(node, directTaint.key, false);
  }

  close(): Promise<void> {
    return this.#client.destroy();
  }

  #deletePods({ namespace, selector }: RunningJob): Promise<void> {
    return this.#ask('DELETE', `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`);
  }

  #suspend(job: RunningJob, suspend: boolean): Promise<void> {
    const group = job.kind === 'Job' ? 'batch/v1' : 'kubeflow.org/v1';
    const plural = job.kind === 'Job' ? 'jobs' : 'pytorchjobs';
    return this.#patch(`/apis/${group}/namespaces/${job.namespace}/${plural}/${job.name}`, {
      spec: job.kind === 'Job' ? { suspend } : { runPolicy: { suspend } },
    });
  }

  #patch(path: string, body: object): Promise<void> {
    return this.#ask('PATCH', path, body);
  }

  async #ask(method: 'PATCH' | 'DELETE', path: string, body?: object): Promise<void> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(body && { 'content-type': 'application/merge-patch+json' }),
    };
    const answer = await this.#client.request({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 300)}`);
  }
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: {
      readonly server: string;
      readonly 'certificate-authority'?: string;
      readonly 'certificate-authority-data'?: string;
    };
  }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}
