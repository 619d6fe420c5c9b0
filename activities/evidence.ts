/** Keeps what can be had of an attempt before it is stopped. */

import type { Evidence, EvidenceRequest } from '../contract/evidence.ts';
import type { Dependencies } from './dependencies.ts';

export async function captureEvidence(dependencies: Dependencies, request: EvidenceRequest): Promise<Evidence> {
  throw new Error(`not written: ${request.incident} ${dependencies.now()}`);
}
