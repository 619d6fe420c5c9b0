import { Command } from 'commander';
import { failoverCommand } from './failover.ts';
import { recoveryCommand } from './recovery.ts';
import { stormCommand } from './storm.ts';

await new Command('bench')
  .description('Measures kcover on the testbed: real Temporal, real Kubernetes control plane, simulated GPU nodes')
  .addCommand(recoveryCommand())
  .addCommand(stormCommand())
  .addCommand(failoverCommand())
  .parseAsync();
// Watches and connections of a library must not keep a measurement that has ended.
process.exit();
