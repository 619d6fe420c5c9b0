/** Parses the name of a job: `pytorchjob/llm`, `pytorchjobs.kubeflow.org/llm`, `job/x`, in upper or lower case. */

import { KcoverError } from '../../contract/errors.ts';
import { type JobKind, jobKindNames, jobKinds as kinds } from '../../contract/job/jobs.ts';
import { isObjectName } from '../../contract/object-names.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';

export interface JobName {
  readonly kind: JobKind;
  readonly name: string;
}

/** Names that kubectl accepts for a kind, in lower case. */
function spellings(kind: JobKind): readonly string[] {
  const { group, version, plural, objectKind } = jobKinds[kind];
  return [jobKindNames[kind], plural, objectKind.toLowerCase()].flatMap((word) => [
    word,
    `${word}.${group}`,
    `${word}.${version}.${group}`,
  ]);
}

/** Throws `usage` for anything else. */
export function parseJobName(text: string): JobName {
  const [word = '', name = '', ...more] = text.split('/');
  if (more.length > 0 || name === '') throw unusable(text, 'a job is named kind/name');
  const kind = kinds.find((each) => spellings(each).includes(word.toLowerCase()));
  if (kind === undefined) throw unusable(text, `${word} is no kind of job that kcover knows`);
  if (!isObjectName(name)) throw unusable(text, `${name} cannot be the name of a Kubernetes object`);
  return { kind, name };
}

const unusable = (text: string, why: string): KcoverError =>
  new KcoverError('usage', `${JSON.stringify(text)}: ${why}`, {
    remedy: `one of ${kinds.map((kind) => `${jobKindNames[kind]}/NAME`).join(', ')}`,
  });
