import type { ReportField, ReportProblem } from '../../contract/preflight/preflight.ts';

/** Thrown by the readers of a report; `readReport` returns it as a value. */
export class Unusable extends Error {
  readonly problem: ReportProblem;

  constructor(field: ReportField, because: string) {
    super(because);
    this.problem = { field, because };
  }
}
