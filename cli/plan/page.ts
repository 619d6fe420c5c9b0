/** Output of `kcover plan`. Pure. */

import { jobTitle } from '../../contract/job/jobs.ts';
import { properties, table } from '../program/output.ts';
import type { PlanInput } from './facts.ts';
import type { PlanReport } from './plan.ts';
import type { PlanStep } from './recovery.ts';

const does: Readonly<Record<PlanReport['does'], string>> = {
  stops: 'would stop pods',
  holds: 'would hold: nothing is stopped until that changes',
  nothing: 'would do nothing',
};

export function pageOf(facts: PlanInput, plan: PlanReport): string {
  const { attempt, known, hypothetical, unseen } = facts;
  const { ref } = attempt.job;
  const paused = [attempt.paused && `kcover by ${attempt.paused.by}`, known.paused && `the job by ${known.paused.by}`]
    .filter(Boolean)
    .join(', ');
  return [
    `${ref.namespace}/${jobTitle(ref)}   ${does[plan.does]}`,
    properties([
      ['because', plan.because],
      ['try', plan.remedy],
      ['training', severityOf(plan)],
      [
        'assumed',
        hypothetical &&
          `${hypothetical.code}${hypothetical.node === undefined ? '' : ` on ${hypothetical.node}`}: hypothetical, not observed`,
      ],
      ['paused', paused],
      ['open', known.open?.incident],
      ['ignored', plan.ignored.join('; ')],
      ['not seen', unseen.join('; ')],
      ['facts of', facts.at],
    ]),
    ...tableOf(plan.steps.filter(({ otherwise }) => !otherwise)),
    ...tableOf(
      plan.steps.filter(({ otherwise }) => otherwise),
      'what would be done otherwise:',
    ),
    ...(plan.assumed.length > 0 ? ['', 'the steps assume:', ...plan.assumed.map((each) => `  ${each}`)] : []),
  ].join('\n');
}

/** Severity that was assessed from the faults, if any. */
function severityOf({ decisions: { recovery } }: PlanReport): string | undefined {
  return recovery?.kind === 'stop' || recovery?.kind === 'end' ? recovery.plan?.severity : undefined;
}

function tableOf(steps: readonly PlanStep[], title?: string): string[] {
  if (steps.length === 0) return [];
  const rows = steps.map(({ step, what, because }) => [step, what, because]);
  return ['', ...(title === undefined ? [] : [title]), table(['step', 'what', 'because'], rows)];
}
