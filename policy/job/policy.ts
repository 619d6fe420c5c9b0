import type {
  CapacityChoice,
  CheckpointStrategy,
  HangResponse,
  JobOverrides,
  JobSuppression,
  RecoveryMode,
  RestartLevel,
} from '../../contract/job/job-overrides.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { isCode } from '../node/rules/rule.ts';

type Recovery = WorkerSettings['recovery'];

/** The policy for one job: the operator's settings, and the job's overrides as far as the operator allows them. */
export interface JobPolicy {
  readonly mode: RecoveryMode;
  readonly checkpoint: CheckpointStrategy;
  /** Without capacity for a complete attempt: while the job still runs, and when it does not. */
  readonly short: CapacityChoice;
  readonly dead: CapacityChoice;
  readonly level: RestartLevel;
  readonly hang: HangResponse;
  /** Recoveries for its own code; missing where the budget of the settings applies. */
  readonly retries?: number;
  /** As far as the operator allows it. */
  readonly suppression?: JobSuppression;
  /** Overrides that are not applied, a sentence each. */
  readonly ignored: readonly string[];
}

/** Messages name the annotation as people know it; `ignored` quotes the job's own values. */
export function jobPolicy(overrides: Partial<JobOverrides> | undefined, settings: Recovery): JobPolicy {
  const { jobMay } = settings;
  const ignored = [...(overrides?.ignored ?? [])];

  function choose<T extends string>(what: string, requested: T | undefined, allowed: readonly T[], otherwise: T): T {
    if (requested === undefined || requested === otherwise) return otherwise;
    if (allowed.includes(requested)) return requested;
    ignored.push(`${what} ${requested} is not allowed by the operator: ${otherwise} holds`);
    return otherwise;
  }

  const mode = choose<RecoveryMode>('mode', overrides?.mode, jobMay.mode, settings.mode);
  const checkpoint = choose('checkpoint', overrides?.checkpoint, jobMay.checkpoint, settings.checkpoint.strategy);
  const shrinksNothing =
    overrides?.capacity === 'shrink' && overrides.minReplicas === undefined && overrides.allowedSizes === undefined;
  if (shrinksNothing)
    ignored.push('capacity shrink says not how small the job may become: min-replicas or shapes is needed');
  const capacity = shrinksNothing ? undefined : overrides?.capacity;
  const retries = overrides?.retries === undefined ? undefined : Math.min(overrides.retries, jobMay.retries);
  if (retries !== undefined && retries !== overrides?.retries)
    ignored.push(`retries ${overrides?.retries} is above the operator's ${jobMay.retries}, which holds`);
  const suppression = allowedSuppression(overrides?.suppression, jobMay.suppression, ignored);
  if (mode === 'force' && overrides?.checkpoint === 'on-termination')
    ignored.push('checkpoint on-termination: mode force leaves no time to save anything');
  return {
    mode,
    checkpoint: mode === 'force' && checkpoint === 'on-termination' ? 'none' : checkpoint,
    short: choose('capacity', capacity, jobMay.capacity, settings.capacity.short),
    dead: choose('for a dead job, capacity', capacity, jobMay.capacity, settings.capacity.dead),
    level: choose('first-level', overrides?.level, jobMay.level, settings.levels.first),
    hang: choose('hang', overrides?.hang, jobMay.hang, settings.hang.response),
    ...(retries !== undefined && { retries }),
    ...(suppression && { suppression }),
    ignored,
  };
}

/** Only the codes that the operator leaves to jobs. */
function allowedSuppression(
  suppression: JobSuppression | undefined,
  allowed: readonly string[],
  ignored: string[],
): JobSuppression | undefined {
  if (suppression === undefined) return undefined;
  const codes = suppression.codes.filter((code) => allowed.some((one) => one === code || isCode(one, code)));
  const others = suppression.codes.filter((code) => !codes.includes(code));
  if (others.length > 0) ignored.push(`suppression of ${others.join(', ')} is not allowed by the operator`);
  return codes.length > 0 ? { ...suppression, codes } : undefined;
}
