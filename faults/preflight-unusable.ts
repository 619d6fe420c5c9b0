import type { ReportField, ReportProblem } from '../contract/preflight.ts';

/** Thrown among the readers of a report, and returned by `readReport` as a value. */
export class Unusable extends Error {
  readonly problem: ReportProblem;

  constructor(field: ReportField, because: string) {
    super(because);
    this.problem = { field, because };
  }
}
