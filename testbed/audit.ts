import { readFile } from 'node:fs/promises';

/** One request that the API server answered. */
export interface Write {
  readonly at: Date;
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Of the object, where the log has it (deletes of pods). */
  readonly uid: string | undefined;
  /** UIDs of the pods that a delete or delete-collection affected. */
  readonly deleted: readonly string[];
  /** The same pods as in the response. */
  readonly deletedPods: readonly DeletedPod[];
  /** Body of patches of nodes and jobs. */
  readonly body: unknown;
  readonly code: number;
  readonly requestURI: string;
  readonly userAgent: string | undefined;
}

export interface DeletedPod {
  readonly uid: string;
  /** Position of the delete in the order of all changes: a resource version. */
  readonly place: number;
  /** Missing when the pod was not scheduled yet. */
  readonly node: string | undefined;
  readonly failed: boolean;
}

interface PodAnswer {
  readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
}

interface AuditEvent {
  readonly stageTimestamp: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: unknown;
  readonly responseObject?: PodAnswer & { readonly kind?: string; readonly items?: readonly PodAnswer[] };
}

/** Everything written so far, in the order of the answers. Leases and Events are not logged. */
export async function readWrites(auditLog: string, since?: Date): Promise<Write[]> {
  const writes = (await readRequests(auditLog)).filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
  return since === undefined ? writes : writes.filter(({ at }) => at >= since);
}

/** Every logged request, in the order of the answers. */
export async function readRequests(auditLog: string): Promise<Write[]> {
  const text = await readFile(auditLog, 'utf8');
  // The last line may be incomplete.
  const complete = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '');
  return complete.map((line) => toWrite(parse(line)));
}

/** A killed server may leave an incomplete line, to which the next server appends its first. */
const parse = (line: string): AuditEvent =>
  JSON.parse(line.slice(Math.max(0, line.lastIndexOf('{"kind":"Event","apiVersion":"audit')))) as AuditEvent;

function toWrite(event: AuditEvent): Write {
  const ref = event.objectRef ?? {};
  const deletedPods = deletedBy(event);
  const deleted = deletedPods.map(({ uid }) => uid);
  return {
    at: new Date(event.stageTimestamp),
    user: event.impersonatedUser?.username ?? event.user.username,
    verb: event.verb,
    resource: ref.resource ?? '',
    subresource: ref.subresource,
    namespace: ref.namespace,
    name: ref.name,
    uid: ref.uid ?? (event.verb === 'delete' ? deleted[0] : undefined),
    deleted,
    deletedPods,
    body: event.requestObject,
    code: event.responseStatus?.code ?? 0,
    requestURI: event.requestURI,
    userAgent: event.userAgent,
  };
}

function deletedBy({ verb, responseObject }: AuditEvent): DeletedPod[] {
  if (responseObject === undefined || responseObject.kind === 'Status') return [];
  const objects =
    verb === 'deletecollection' ? (responseObject.items ?? []) : verb === 'delete' ? [responseObject] : [];
  return objects.flatMap(({ metadata, spec, status }) =>
    metadata?.uid === undefined
      ? []
      : [
          {
            uid: metadata.uid,
            place: Number(metadata.resourceVersion),
            node: spec?.nodeName,
            failed: status?.phase === 'Failed',
          },
        ],
  );
}

export function countByUser(writes: readonly Write[]): Map<string, number> {
  return count(writes.map(({ user }) => user));
}

/** Calls that delete single pods, successful or not. */
export function podDeletes(writes: readonly Write[]): Write[] {
  return writes.filter(
    ({ verb, resource, subresource }) => verb === 'delete' && resource === 'pods' && subresource === undefined,
  );
}

export function podDeleteCollections(writes: readonly Write[]): Write[] {
  return writes.filter(({ verb, resource }) => verb === 'deletecollection' && resource === 'pods');
}

/** How often each pod (by UID) was deleted, singly or in a collection. Filter by user first: kwok ends every pod with a delete too. */
export function deletesOfPods(writes: readonly Write[]): Map<string, number> {
  return count([...podDeletes(writes), ...podDeleteCollections(writes)].flatMap(({ deleted }) => deleted));
}

/** Patches and updates that set whether a job is suspended. */
export function suspends(writes: readonly Write[]): (Write & { readonly suspend: boolean })[] {
  return writes.flatMap((write) => {
    const suspend = suspendIn(write.body);
    return write.subresource === undefined && suspend !== undefined && ['patch', 'update'].includes(write.verb)
      ? [{ ...write, suspend }]
      : [];
  });
}

function suspendIn(body: unknown): boolean | undefined {
  if (Array.isArray(body)) {
    const operation = (body as readonly { readonly path?: string; readonly value?: unknown }[]).findLast(({ path }) =>
      path?.endsWith('/suspend'),
    );
    return typeof operation?.value === 'boolean' ? operation.value : undefined;
  }
  const { spec } = (body ?? {}) as {
    readonly spec?: { readonly suspend?: boolean; readonly runPolicy?: { readonly suspend?: boolean } };
  };
  return spec?.suspend ?? spec?.runPolicy?.suspend;
}

function count(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
