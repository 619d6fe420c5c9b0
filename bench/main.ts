import { Command } from 'commander';
import { collectionCommand } from './collection.ts';
import { failoverCommand } from './failover.ts';
import { memoryCommand } from './memory.ts';
import { recoveryCommand } from './recovery.ts';
import { slowNodesCommand } from './slow-nodes.ts';
import { stormCommand } from './storm.ts';
import { timingCommand } from './timing.ts';

await new Command('bench')
  .description('Measures kcover on the testbed: real Temporal, real Kubernetes control plane, simulated GPU nodes')
  .addCommand(recoveryCommand())
  .addCommand(stormCommand())
  .addCommand(failoverCommand())
  .addCommand(slowNodesCommand())
  .addCommand(collectionCommand())
  .addCommand(timingCommand())
  .addCommand(memoryCommand())
  .parseAsync();
// Open watches and connections of a library must not keep the process after the measurement.
process.exit();
