import type { Client } from '@temporalio/client';
import type { V1Node } from '@kubernetes/client-node';
import type { Reservation } from '../../contract/cluster.ts';
import { annotations, clusterWorkflowId } from '../../contract/ids.ts';
import type { MaintenanceStatus } from '../../contract/node/maintenance.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { RemedyProgress } from '../../contract/remedy/remedy.ts';
import { sinceOf } from '../incidents/index.ts';
import { ago } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { type Place, listInClusters } from '../clusters/index.ts';
import type { ListedRow, Listing } from '../clusters/listing.ts';
import { readSettings, type Settings } from '../settings/file.ts';

type Taint = Settings<'worker'>['quarantine']['taint'];

interface Row {
  readonly node: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly because: string | null;
  readonly since: string | null;
  readonly by: string | null;
  readonly incident: string | null;
  readonly until: string | null;
  readonly remedy: RemedyProgress | null;
  readonly maintenance: MaintenanceStatus | null;
}

export const nodeList: CommandEntry = {
  summary:
    'List the nodes that are quarantined, watched or to be maintained, or the machines that were quarantined most often.',
  arguments: [],
  options: [
    sharedOptions.watch,
    { flags: '--offenders', describe: 'Instead, list machines by how often kcover quarantined them' },
    { flags: '--since <duration>', describe: 'With --offenders, count quarantines from then on', byDefault: '28d' },
    sharedOptions.context,
    sharedOptions.records,
    sharedOptions.workerConfig,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: ['kcover node list --context east,west', 'kcover node list --offenders --records /var/lib/kcover/records'],
  exits: ['unreachable'],
  async run(typed, { session, now }) {
    if (typed.flag('offenders')) {
      const { listOffenders } = await import('../offenders/list.ts');
      const since = sinceOf(typed.value('since'), now);
      return listInClusters(typed, session, async (place) =>
        listOffenders(await place.session.temporal(), { since, records: place.records, now }),
      );
    }
    const { settings } = await readSettings('worker', typed.option('config'));
    return listInClusters(typed, session, (place) => look(place, settings.quarantine.taint, now));
  },
};

async function look({ session, isNamed }: Place, taint: Taint, now: number): Promise<Listing> {
  const { listObjects } = await import('../../kube/client/requests.ts');
  const { nodeStatuses } = await import('../clients/node-statuses.ts');
  const { runningMaintenances } = await import('../clients/maintenances.ts');
  const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
  if (isNamed) await requireBelongTogether(kube, client);
  const [nodes, statuses, reserved, maintained] = await Promise.all([
    listObjects<V1Node>(kube, '/api/v1/nodes', {}, 'list nodes'),
    nodeStatuses(client),
    reservations(client),
    runningMaintenances(client),
  ]);
  const marked = new Map(nodes.filter(isOurs).map((node) => [node.metadata?.name ?? '', node]));
  const names = [
    ...new Set([...marked.keys(), ...statuses.keys(), ...reserved.keys(), ...maintained.keys()]),
  ].toSorted();
  return {
    head: ['node', 'phase', 'reason', 'since', 'by', 'incident', 'because'],
    rows: names.map((name) => {
      const known = {
        marked: marked.get(name),
        status: statuses.get(name),
        reserved: reserved.get(name),
        maintenance: maintained.get(name),
      };
      return listedRow(rowOf(name, known, taint), now);
    }),
    none: 'no node is quarantined, watched or to be maintained',
  };
}

/** A profile of another cluster would give its workflows to these nodes. */
async function requireBelongTogether(kube: Kube, client: Client): Promise<void> {
  const { clusterUid } = await import('../../kube/client/connection.ts');
  const { requireSameCluster } = await import('../clients/cluster-identity.ts');
  await requireSameCluster(client, await clusterUid(kube));
}

function listedRow(row: Row, now: number): ListedRow {
  const { node, phase, reason, since, by, incident } = row;
  const why = reasonOf(row);
  return {
    about: node,
    line: [node, phase, reason ?? '-', why].join('   '),
    cells: [node, phase, reason ?? '', since === null ? '' : ago(since, now), by ?? '', incident ?? '', why],
    data: row,
  };
}

/** Why it is quarantined, and what its repair and its maintenance do. */
const reasonOf = ({ because, remedy, maintenance }: Pick<Row, 'because' | 'remedy' | 'maintenance'>): string =>
  [
    because,
    remedy && `${remedy.outcome ?? remedy.phase}: ${remedy.because}`,
    maintenance &&
      `maintenance ${maintenance.phase} (${maintenance.from} to ${maintenance.until}): ${maintenance.because}`,
  ]
    .filter(Boolean)
    .join('; ');

const isOurs = (node: V1Node): boolean => node.metadata?.annotations?.[annotations.quarantineIncident] !== undefined;

/** What Node object, node workflow and reservations have about one node. */
interface KnownNode {
  readonly marked: V1Node | undefined;
  readonly status: NodeStatus | undefined;
  readonly reserved: Reservation | undefined;
  readonly maintenance?: MaintenanceStatus | undefined;
}

/** Reason and annotations come from the Node object, because they are what is in force; the rest comes from the workflow. */
export function rowOf(node: string, { marked, status, reserved, maintenance }: KnownNode, taint: Taint): Row {
  const notes = marked?.metadata?.annotations ?? {};
  const incident = status?.incident ?? notes[annotations.quarantineIncident] ?? reserved?.incident;
  return {
    node,
    phase: status?.phase ?? phaseWithout({ marked, reserved }),
    reason: reasonOn(marked, taint) ?? status?.faults.at(-1)?.code ?? null,
    because: status?.because ?? notes[annotations.quarantineReason] ?? null,
    since: status?.since ?? timeIn(incident),
    by: status?.by ?? null,
    incident: incident ?? null,
    until: status?.until ?? null,
    remedy: status?.remedy ?? null,
    maintenance: maintenance ?? null,
  };
}

/** Of a node that no workflow of its own looks after. */
function phaseWithout({ marked, reserved }: Pick<KnownNode, 'marked' | 'reserved'>): string {
  if (marked) return 'quarantined, no workflow';
  return reserved ? 'reserved, no workflow' : 'in service';
}

/** Value of our taint; undefined when the settings give all nodes the same value. */
const reasonOn = (node: V1Node | undefined, { key, effect, value }: Taint): string | undefined =>
  value === undefined
    ? node?.spec?.taints?.find((each) => each.key === key && each.effect === effect)?.value
    : undefined;

/** `node/<name>/<time>` */
const timeIn = (incident: string | undefined): string | null => incident?.split('/').at(-1) ?? null;

/** Reservations by node. Without the workflow `cluster` there are none. */
async function reservations(client: Client): Promise<ReadonlyMap<string, Reservation>> {
  const { statusOf } = await import('../clients/workflows.ts');
  const status = await statusOf(client, 'cluster', clusterWorkflowId).catch(() => undefined);
  return new Map(status?.reservations.map((each) => [each.node, each]));
}
