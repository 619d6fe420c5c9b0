/** What is asked of `kcover doctor`, and the settings that it finds. */

import type { CliEnvironment } from '../environment.ts';
import type { Session } from '../session.ts';
import type { RoleName, Settings } from '../settings-file.ts';

export interface Exam {
  readonly environment: CliEnvironment;
  readonly session: Session;
  readonly role: RoleName | undefined;
  /** Settings file of that role. */
  readonly config: string | undefined;
  /** Where kcover itself runs, if it was said. */
  readonly namespace: string | undefined;
  /** What the names of its objects begin with. */
  readonly name: string;
  readonly taskQueue: string;
  readonly hostRoot: string;
  readonly fix: boolean;
}

export type AnySettings = { readonly [R in RoleName]?: Settings<R> };
