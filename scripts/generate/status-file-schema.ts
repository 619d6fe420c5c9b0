import { z } from 'zod';
import { nodeStatusFile } from '../../contract/node/notice.schema.ts';

/** JSON Schema of the status file that pods read. */
export const statusFileSchema = (): string =>
  `${JSON.stringify(z.toJSONSchema(nodeStatusFile, { target: 'draft-7' }), null, 2)}\n`;
