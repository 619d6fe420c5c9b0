/**
 * `dcgmi diag --json` of DCGM 4. Sources: Diag.cpp and NvvsJsonStrings.h of DCGM. NVIDIA promises no stable format: what is not understood is
 * unknown.
 */

import {
  few,
  objectIn,
  record,
  records,
  type Verification,
  type VerificationOptions,
  verified,
} from './verification.ts';

/** dcgmi ends with the DCGM return code, a small negative number, of which the shell sees the remainder of 256. */
const byExitCode: Readonly<Record<number, Pick<Verification, 'verdict' | 'because'>>> = {
  205: { verdict: 'failed', because: 'DCGM says that a GPU must be isolated' },
  226: { verdict: 'failed', because: 'DCGM says that a test failed' },
  217: { verdict: 'busy', because: 'another diagnostic runs already' },
  222: { verdict: 'busy', because: 'the GPUs are in use' },
};

/** Severities with which DCGM asks for something; with the others it only warns, or the node is not set up for the test. */
const asks: Readonly<Record<number, string>> = { 2: 'isolate', 6: 'reset' };

interface Result {
  readonly test: string;
  readonly entity: string;
  readonly isGpu: boolean;
  readonly status: string;
  readonly why: string;
  /** It fails for how the node is set up, as with persistence mode off. */
  readonly isSetup: boolean;
}

const setupSeverity = 5;

export function readDcgm(text: string, { exitCode = 0 }: VerificationOptions): Verification {
  const output = objectIn(text);
  const byCode = byExitCode[exitCode];
  const diagnostic = record(output?.['DCGM Diagnostic']);
  const results = records(diagnostic?.['test_categories']).flatMap((category) =>
    records(category['tests']).flatMap(resultsOf),
  );
  const failures = results.filter(({ status }) => status === 'fail');
  const said = (some: readonly Result[]) => few(some.map(({ test, entity, why }) => `${test} of ${entity}${why}`));
  const broken = failures.filter(({ isSetup }) => !isSetup);
  if (broken.length > 0) return verified('failed', said(broken));
  if (failures.length > 0) return verified('unknown', `the node is not set up for it: ${said(failures)}`);
  const problem = short(diagnostic?.['runtime_error'], 300);
  if (byCode) return verified(byCode.verdict, byCode.because);
  if (exitCode !== 0) return verified('unknown', `dcgmi ended with exit code ${exitCode}`);
  if (problem !== '') return verified('unknown', problem);
  if (results.length === 0)
    return verified('unknown', output ? 'its JSON has no tests of DCGM 4' : 'it is no JSON, or was cut off');
  const others = results.filter(({ status }) => status !== 'pass');
  if (others.length > 0)
    return verified(
      'unknown',
      `not passed: ${few(others.map(({ test, entity, status }) => `${test} of ${entity}: ${status}`))}`,
    );
  return whole(output, results);
}

/** Every GPU that the output lists must have passed something. */
function whole(output: Readonly<Record<string, unknown>> | undefined, results: readonly Result[]): Verification {
  const listed = records(output?.['entity_groups'])
    .filter((group) => group['entity_group'] === 'GPU')
    .flatMap((group) => records(group['entities']))
    .map((entity) => `GPU ${String(entity['entity_id'])}`);
  if (listed.length === 0) return verified('unknown', 'its JSON lists no GPUs');
  const passed = new Set(results.filter(({ isGpu }) => isGpu).map(({ entity }) => entity));
  const untested = listed.filter((entity) => !passed.has(entity));
  if (untested.length > 0) return verified('unknown', `not tested: ${few(untested)}`, passed.size);
  const tests = [...new Set(results.map(({ test }) => test))];
  return verified('passed', `${passed.size} GPUs passed ${few(tests, 10)}`, passed.size);
}

/** A test also has a summary: without results of its own, that counts. */
function resultsOf(test: Readonly<Record<string, unknown>>): readonly Result[] {
  const name = short(test['name']) || 'a test without a name';
  const all = records(test['results']).map((result) => {
    const group = short(result['entity_group']);
    return {
      test: name,
      entity: `${group} ${short(result['entity_id'])}`.trim(),
      isGpu: group === 'GPU',
      status: statusOf(result),
      why: whyOf(result),
      isSetup: isSetup(result),
    };
  });
  const summary = record(test['test_summary']);
  const status = summary ? statusOf(summary) : undefined;
  const isSaid = status === undefined || all.some((each) => each.status === status);
  return isSaid && all.length > 0
    ? all
    : [...all, { test: name, entity: 'all', isGpu: false, status: status ?? 'no result', why: '', isSetup: false }];
}

/** Every warning of it is about the set-up. */
function isSetup(result: Readonly<Record<string, unknown>>): boolean {
  const warnings = records(result['warnings']);
  return warnings.length > 0 && warnings.every((warning) => Number(warning['error_severity']) === setupSeverity);
}

const statusOf = ({ status }: Readonly<Record<string, unknown>>): string => short(status).toLowerCase() || 'no status';

function whyOf(result: Readonly<Record<string, unknown>>): string {
  const [warning] = records(result['warnings']);
  if (!warning) return '';
  const asked = asks[Number(warning['error_severity'])];
  return `: ${asked === undefined ? '' : `DCGM asks to ${asked}: `}${short(warning['warning'], 200)}`;
}

const short = (value: unknown, most = 60): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, most) : '';
