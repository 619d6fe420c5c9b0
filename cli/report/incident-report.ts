/** Writes the report of a recovery as a Markdown page: what happened, why, and which evidence is stored. Pure. */

import type { Evidence, EvidenceFile } from '../../contract/recovery/evidence.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { Outcome } from '../../contract/recovery/outcomes.ts';
import type { IncidentRecord, RecoveryDecision } from '../../contract/recovery/recovery.ts';
import type { EvidenceIndex } from './evidence-index.ts';
import { code, grid, list, plain, quote, sections } from './markdown.ts';
import { approvalsOf, checkpointsOf, capacityDecisionsOf } from './preparations.ts';

/** `evidence`: undefined without an evidence directory. */
export function reportOf(record: IncidentRecord, evidence: readonly EvidenceIndex[] | undefined): string {
  const { job, faults, decisions, stops, timeline } = record;
  return sections(`Recovery of ${plain(`${job.namespace}/${jobTitle(job)}`)}`, introOf(record), [
    {
      title: 'Timeline',
      text: grid(
        ['at', 'what', 'because'],
        timeline.map(({ at, what, because }) => [plain(at), plain(what), plain(because ?? '')]),
      ),
    },
    { title: 'Faults', text: faultsOf(faults) },
    { title: 'Decisions', text: list(decisions.map(decisionLine)) },
    { title: 'Approvals', text: approvalsOf(record) },
    { title: 'Checkpoints', text: checkpointsOf(record) },
    { title: 'Capacity', text: capacityDecisionsOf(record) },
    { title: 'Stops', text: stopsOf(stops) },
    { title: 'Deleted by force', text: forceOf(record) },
    { title: 'Progress', text: progressOf(record) },
    { title: 'Evidence', text: evidenceOf(record.evidence ?? [], evidence) },
    {
      title: 'Running now',
      text: grid(
        ['pod', 'node'],
        record.runningPods.map(({ name, node }) => [plain(name), plain(node ?? '')]),
      ),
    },
  ]);
}

const meaning: Readonly<Record<Outcome, string>> = {
  recovered: 'training was seen to make progress',
  restarted: 'running again, not verified: training was not seen to make progress',
  refused: 'nothing was stopped',
  failed: 'the controller of the job counts it as failed',
  cancelled: 'it was no longer needed or wanted, or was ended from outside',
  escalated: 'a person has to look after it',
};

const introOf = ({ incident, outcome, because, startedAt, endedAt, stops }: IncidentRecord): string =>
  list([
    `**${outcome}**: ${meaning[outcome]}`,
    `because ${plain(because)}`,
    `from ${plain(startedAt)} to ${plain(endedAt)} (${formatDuration(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)))}), ${stops.length} ${stops.length === 1 ? 'stop' : 'stops'}`,
    `incident ${code(incident)}`,
  ]);

const faultsOf = (faults: IncidentRecord['faults']): string =>
  faults
    .map(({ code: what, message, node, device, seenAt, quarantine, evidence }) =>
      [
        `- ${code(what)}${node === undefined ? '' : ` on ${plain(node)}`}${device === undefined ? '' : ` (${plain(device)})`}: ${plain(message)}`,
        `  seen ${plain(seenAt)}${quarantine ? `; node ${quarantine.state}: ${plain(quarantine.because)}` : ''}`,
        ...(evidence && evidence.length > 0 ? ['', quote(evidence), ''] : []),
      ].join('\n'),
    )
    .join('\n');

const decisionLine = (decision: RecoveryDecision): string =>
  `${new Date(decision.at).toISOString()} **${wordsOf(decision)}**: ${plain(decision.because)}${'remedy' in decision && decision.remedy !== undefined ? ` (try: ${plain(decision.remedy)})` : ''}`;

const wordsOf = (decision: RecoveryDecision): string => {
  if (decision.kind === 'stop') return `stop by ${decision.by}`;
  return decision.kind === 'end' ? `end as ${decision.outcome}` : decision.kind;
};

const stopsOf = (stops: IncidentRecord['stops']): string =>
  stops
    .map(
      ({ attempt, by, at, pods, of = pods.length }) =>
        `Attempt ${attempt}, stopped by ${by} at ${plain(at)}:\n\n${grid(
          ['pod', 'node', 'uid'],
          pods.map(({ name, node, uid }) => [plain(name), plain(node ?? ''), code(uid)]),
        )}${of > pods.length ? `\n\nand ${of - pods.length} more: the index of the evidence names them.` : ''}`,
    )
    .join('\n\n');

function forceOf({ stops, forced = [], forcedOf = 0 }: IncidentRecord): string | undefined {
  const all = new Map([...forced, ...stops.flatMap((stop) => stop.forced ?? [])].map((pod) => [pod.uid, pod]));
  if (all.size === 0) return undefined;
  return [
    'The processes of these pods were not seen to end. They may still run on their nodes and write to shared storage until those are off.',
    list(
      [...all.values()].map(({ name, node, uid }) => `${plain(name)} on ${plain(node ?? 'no node')}, uid ${code(uid)}`),
    ),
    ...(forcedOf > all.size ? [`and ${forcedOf - all.size} more.`] : []),
  ].join('\n\n');
}

function progressOf({ progress }: IncidentRecord): string | undefined {
  if (!progress?.before && !progress?.after) return undefined;
  const row = (when: string, seen: JobProgress | undefined) => [
    when,
    `${seen?.step ?? ''}`,
    `${seen?.checkpointStep ?? ''}`,
    plain(seen?.at ?? ''),
  ];
  return grid(['', 'step', 'checkpoint', 'at'], [row('before', progress.before), row('after', progress.after)]);
}

function evidenceOf(kept: readonly Evidence[], indexes: readonly EvidenceIndex[] | undefined): string | undefined {
  if (kept.length === 0) return undefined;
  return kept
    .flatMap((one) => {
      const index = indexes?.find(({ attempt }) => attempt === one.attempt);
      return [
        headOf(one),
        ...(index === undefined
          ? []
          : [index.files === null ? 'Not in the evidence store that was named.' : filesOf(index.files)]),
      ];
    })
    .join('\n\n');
}

const headOf = ({ attempt, ranks, of, files, bytes, address, digest, because, suspects = [] }: Evidence): string =>
  [
    `Attempt ${attempt}: ${ranks} of ${of} ranks, ${files} files, ${sizeOf(bytes)} at ${code(address)}, SHA-256 ${code(digest)}`,
    ...(because === undefined ? [] : [`Incomplete: ${plain(because)}`]),
    ...suspects.map((one) => `Suspect: ${plain(one.pod)} on ${plain(one.node ?? 'no node')}: ${plain(one.because)}`),
  ].join('\\\n');

const filesOf = (files: readonly EvidenceFile[]): string =>
  grid(
    ['file', 'what', 'size', ''],
    files
      .toSorted((a, b) => (a.file < b.file ? -1 : 1))
      .map(({ file, what, bytes, cut, redacted }) => [
        code(file),
        plain(what),
        sizeOf(bytes),
        [...(cut ? ['cut'] : []), ...(redacted === undefined ? [] : [`${redacted} redacted`])].join(', '),
      ]),
  );

const sizeOf = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
};
