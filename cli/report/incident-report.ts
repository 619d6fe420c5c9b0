/** The report of a recovery as a page: what happened, why, what it cost, and which evidence is stored. Pure. */

import type { Evidence, EvidenceFile } from '../../contract/recovery/evidence.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { Outcome } from '../../contract/recovery/outcomes.ts';
import type { IncidentRecord, RecoveryDecision } from '../../contract/recovery/recovery.ts';
import { costOf, gpuHours } from './cost.ts';
import type { EvidenceIndex } from './evidence-index.ts';
import { type Block, type Line, list, type Page, quote, table, text } from './page.ts';
import { approvalsOf, checkpointsOf, capacityDecisionsOf } from './preparations.ts';

/** `evidence`: undefined without an evidence directory. */
export function reportOf(record: IncidentRecord, evidence: readonly EvidenceIndex[] | undefined): Page {
  const { job, decisions, timeline, runningPods } = record;
  return {
    title: `Recovery of ${job.namespace}/${jobTitle(job)}`,
    intro: introOf(record),
    sections: [
      {
        title: 'Timeline',
        blocks: [
          table(
            ['at', 'what', 'because'],
            timeline.map(({ at, what, because }) => [at, what, because ?? '']),
          ),
        ],
      },
      { title: 'Cost', blocks: costSection(record) },
      { title: 'Faults', blocks: record.faults.flatMap(faultBlocks) },
      { title: 'Decisions', blocks: [list(decisions.map(decisionLine))] },
      { title: 'Approvals', blocks: approvalsOf(record) },
      { title: 'Checkpoints', blocks: checkpointsOf(record) },
      { title: 'Capacity', blocks: capacityDecisionsOf(record) },
      { title: 'Stops', blocks: record.stops.flatMap(stopBlocks) },
      { title: 'Deleted by force', blocks: forceOf(record) },
      { title: 'Progress', blocks: progressOf(record) },
      { title: 'Evidence', blocks: (record.evidence ?? []).flatMap((one) => evidenceBlocks(one, evidence)) },
      {
        title: 'Running now',
        blocks: [
          table(
            ['pod', 'node'],
            runningPods.map(({ name, node }) => [name, node ?? '']),
          ),
        ],
      },
    ],
  };
}

const meaning: Readonly<Record<Outcome, string>> = {
  recovered: 'training was seen to make progress',
  restarted: 'running again, not verified: training was not seen to make progress',
  refused: 'nothing was stopped',
  failed: 'the controller of the job counts it as failed',
  cancelled: 'it was no longer needed or wanted, or was ended from outside',
  escalated: 'a person has to look after it',
};

const introOf = ({ incident, outcome, because, startedAt, endedAt, stops }: IncidentRecord): Line[] => [
  [{ strong: outcome }, `: ${meaning[outcome]}`],
  ['because ', because],
  [
    `from ${startedAt} to ${endedAt} (${formatDuration(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)))}), ${stops.length} ${stops.length === 1 ? 'stop' : 'stops'}`,
  ],
  ['incident ', { code: incident }],
];

function costSection(record: IncidentRecord): Block[] {
  const cost = costOf(record);
  if (!cost) return [];
  const hours = gpuHours(cost.lostMs, cost.gpus);
  const rework =
    cost.rework &&
    `, of which ${gpuHours(cost.rework.ms, cost.gpus)} went into ${cost.rework.steps} steps that were made a second time (after checkpoint ${cost.rework.from}, at the pace before the fault)`;
  return [
    text([
      `${cost.isWhole ? '' : 'At least '}${hours} GPU-hours: ${cost.gpus} GPUs from the last step, or the fault after it, until ${cost.isWhole ? 'training had passed its last step again' : 'the recovery ended, without proof that training had caught up'}${rework ?? ''}.`,
    ]),
  ];
}

const faultBlocks = ({
  code,
  message,
  node,
  device,
  seenAt,
  quarantine,
  evidence = [],
}: IncidentRecord['faults'][number]): Block[] => [
  list([
    [
      { code },
      `${node === undefined ? '' : ` on ${node}`}${device === undefined ? '' : ` (${device})`}: `,
      message,
      `; seen ${seenAt}${quarantine ? `; node ${quarantine.state}: ${quarantine.because}` : ''}`,
    ],
  ]),
  quote(evidence),
];

const decisionLine = (decision: RecoveryDecision): Line => [
  `${new Date(decision.at).toISOString()} `,
  { strong: wordsOf(decision) },
  `: ${decision.because}${'remedy' in decision && decision.remedy !== undefined ? ` (try: ${decision.remedy})` : ''}`,
];

const wordsOf = (decision: RecoveryDecision): string => {
  if (decision.kind === 'stop') return `stop by ${decision.by}`;
  return decision.kind === 'end' ? `end as ${decision.outcome}` : decision.kind;
};

const stopBlocks = ({ attempt, by, at, pods, of = pods.length }: IncidentRecord['stops'][number]): Block[] => [
  text([`Attempt ${attempt}, stopped by ${by} at ${at}:`]),
  table(
    ['pod', 'node', 'uid'],
    pods.map(({ name, node, uid }) => [name, node ?? '', [{ code: uid }]]),
  ),
  ...(of > pods.length ? [text([`and ${of - pods.length} more: the index of the evidence names them.`])] : []),
];

function forceOf({ stops, forced = [], forcedOf = 0 }: IncidentRecord): Block[] {
  const all = new Map([...forced, ...stops.flatMap((stop) => stop.forced ?? [])].map((pod) => [pod.uid, pod]));
  if (all.size === 0) return [];
  return [
    text([
      'The processes of these pods were not seen to end. They may still run on their nodes and write to shared storage until those are off.',
    ]),
    list([...all.values()].map(({ name, node, uid }) => [`${name} on ${node ?? 'no node'}, uid `, { code: uid }])),
    ...(forcedOf > all.size ? [text([`and ${forcedOf - all.size} more.`])] : []),
  ];
}

function progressOf({ progress }: IncidentRecord): Block[] {
  if (!progress?.before && !progress?.after) return [];
  const row = (when: string, seen: JobProgress | undefined) => [
    when,
    `${seen?.step ?? ''}`,
    `${seen?.checkpointStep ?? ''}`,
    seen?.at ?? '',
  ];
  return [table(['', 'step', 'checkpoint', 'at'], [row('before', progress.before), row('after', progress.after)])];
}

function evidenceBlocks(one: Evidence, indexes: readonly EvidenceIndex[] | undefined): Block[] {
  const index = indexes?.find(({ attempt }) => attempt === one.attempt);
  if (index === undefined) return [headOf(one)];
  return [
    headOf(one),
    index.files === null ? text(['Not in the evidence store that was named.']) : filesOf(index.files),
  ];
}

const headOf = ({ attempt, ranks, of, files, bytes, address, digest, because, suspects = [] }: Evidence): Block =>
  text(
    [
      `Attempt ${attempt}: ${ranks} of ${of} ranks, ${files} files, ${sizeOf(bytes)} at `,
      { code: address },
      ', SHA-256 ',
      { code: digest },
    ],
    ...(because === undefined ? [] : [[`Incomplete: ${because}`]]),
    ...suspects.map((each) => [`Suspect: ${each.pod} on ${each.node ?? 'no node'}: ${each.because}`]),
  );

const filesOf = (files: readonly EvidenceFile[]): Block =>
  table(
    ['file', 'what', 'size', ''],
    files
      .toSorted((a, b) => (a.file < b.file ? -1 : 1))
      .map(({ file, what, bytes, cut, redacted }) => [
        [{ code: file }],
        what,
        sizeOf(bytes),
        [...(cut ? ['cut'] : []), ...(redacted === undefined ? [] : [`${redacted} redacted`])].join(', '),
      ]),
  );

const sizeOf = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
};
