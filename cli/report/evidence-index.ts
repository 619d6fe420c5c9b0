/** Reads the index of the stored evidence of an incident. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { attemptDirectory, indexFile } from '../../activities/evidence/store.ts';
import type { EvidenceFile } from '../../contract/recovery/evidence.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';

export interface EvidenceIndex {
  readonly attempt: number;
  /** Null when the directory has no evidence of the attempt. */
  readonly files: readonly EvidenceFile[] | null;
}

/** The index of each attempt in the record. */
export const readEvidence = (
  directory: string,
  { incident, evidence = [] }: IncidentRecord,
): Promise<EvidenceIndex[]> =>
  Promise.all(
    evidence.map(async ({ attempt }) => ({
      attempt,
      files: await readIndex(join(directory, attemptDirectory(incident, attempt), indexFile)),
    })),
  );

async function readIndex(file: string): Promise<EvidenceIndex['files']> {
  try {
    const document: unknown = JSON.parse(await readFile(file, 'utf8'));
    return Array.isArray(document) ? document.filter(isFile) : null;
  } catch {
    return null;
  }
}

const isFile = (each: unknown): each is EvidenceFile =>
  typeof each === 'object' &&
  each !== null &&
  'file' in each &&
  typeof each.file === 'string' &&
  'bytes' in each &&
  typeof each.bytes === 'number';
