import type { Finding } from '../finding.ts';

/** A fault that a ConfigMap shows. */
export interface AscendFault {
  readonly finding: Finding;
  /** When it began, RFC 3339, by the clock of its node; absent where the ConfigMap does not say it. */
  readonly since?: string;
}
