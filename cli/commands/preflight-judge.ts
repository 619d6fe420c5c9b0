import type { NodeJudgement } from '../../contract/preflight/preflight.ts';
import { type PreflightRule, preflightRules } from '../../contract/preflight/preflight.ts';
import { reportProfiles } from '../../faults/preflight/report.ts';
import { type CollectingProfile, collectingProfiles } from '../../policy/preflight/collecting.ts';
import { replayVector } from '../../policy/preflight/replay.ts';
import { judgeStatistical } from '../../policy/preflight/statistical.ts';
import { judgeStrict } from '../../policy/preflight/strict.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { readFiles, type Reports, reportsOf, vectorOf } from '../preflight/files.ts';
import { type JudgedReports, stepsText, verdictText } from '../preflight/verdict.ts';

export const preflightJudge: CommandEntry = {
  summary:
    'Judge from report files which nodes are slow or failed, with the confidence and the pairs that are evidence.',
  arguments: [
    {
      name: '<files...>',
      describe: 'Reports of one run, one in each file; or one vector, an object whose reports are steps',
    },
  ],
  options: [
    { flags: '--rule <rule>', describe: 'Rule of judgement', byDefault: 'statistical', choices: preflightRules },
    {
      flags: '--profile <profile>',
      describe:
        'Version of the reference project whose rules of reading and collecting apply; recommended without one, except that the rule statistical reads reports as kcover collects them (any size, untested is not failed)',
      choices: collectingProfiles,
    },
    sharedOptions.output,
  ],
  examples: [
    'kcover preflight judge /var/lib/kcover/preflight/train/llm-*.json',
    'kcover preflight judge vector.json --rule strict --profile v012 --output json',
  ],
  exits: [],
  async run(typed) {
    const rule = chosen(preflightRules, typed.value('rule'), 'statistical');
    const typedProfile = typed.option('profile');
    const profile = chosen(collectingProfiles, typedProfile ?? '', 'recommended');
    const files = await readFiles(typed.arguments('files'));
    const vector = vectorOf(files);
    if (vector !== undefined) {
      const { steps } = replayVector(vector, { rule, profile });
      return { data: { steps }, text: stepsText(steps) };
    }
    const reading =
      rule === 'statistical' && typedProfile === undefined ? reportProfiles.live : reportProfiles[profile];
    const judged = judge(reportsOf(files, reading), rule, reading);
    return { data: judged, text: verdictText(judged) };
  },
};

/** The text as one of the words, which the command line has already checked. */
const chosen = <Word extends string>(words: readonly Word[], text: string, otherwise: Word): Word =>
  words.find((word) => word === text) ?? otherwise;

function judge(
  { size, reports }: Reports,
  rule: PreflightRule,
  { name, threshold }: { readonly name: CollectingProfile | 'live'; readonly threshold: number },
): JudgedReports {
  const judgement = (rule === 'strict' ? judgeStrict : judgeStatistical)(reports, { size, threshold });
  const ranks = new Set(reports.map(({ rank }) => rank));
  const named = (...verdicts: readonly NodeJudgement['verdict'][]) =>
    judgement.nodes.filter(({ verdict }) => verdicts.includes(verdict)).map(({ node }) => node);
  return {
    ...judgement,
    profile: name,
    size,
    received: reports.length,
    missing: Array.from({ length: size }, (_, rank) => rank).filter((rank) => !ranks.has(rank)),
    abnormalNodes: named('failed', 'slow').toSorted(),
    undetermined: named('undetermined').toSorted(),
  };
}
