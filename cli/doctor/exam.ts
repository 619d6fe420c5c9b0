/** The request to `kcover doctor`, and the settings that it has read. */

import type { CliEnvironment } from '../program/environment.ts';
import type { Session } from '../clients/session.ts';
import type { RoleName, Settings } from '../settings/file.ts';

export interface Exam {
  readonly environment: CliEnvironment;
  readonly session: Session;
  readonly role: RoleName | undefined;
  /** Settings file of that role. */
  readonly config: string | undefined;
  /** Namespace of kcover itself, where it is given. */
  readonly namespace: string | undefined;
  /** Prefix of the names of its objects. */
  readonly name: string;
  readonly taskQueue: string;
  readonly hostRoot: string;
  readonly fix: boolean;
}

export type AnySettings = { readonly [R in RoleName]?: Settings<R> };
