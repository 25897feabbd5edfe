import { z } from 'zod';
import { COUNTED_OF_APPS, COUNTED_OF_CLIENTS } from '../src/services/removals/removals.ts';
import { routesOf } from './procedure-meta.ts';
import { Text } from './schemas/fields.ts';
import { ById, IdKey } from './schemas/keys.ts';
import { integers, Output } from './schemas/outputs.ts';
import { superuserProcedure } from './trpc.ts';

const route = routesOf('Clients');

const ClientRemovalOutput = Output('ClientRemoval', {
  /** To be sent as `confirm_name`. */
  name: z.string(),
  /** Whether the client is closed, as its removal requires. */
  is_closed: z.boolean(),
  apps: z.int(),
  ...integers(COUNTED_OF_CLIENTS),
  ...integers(COUNTED_OF_APPS),
});

export const clientRemovalProcedures = {
  previewRemoval: route(superuserProcedure, 'GET', '/jb/clients/{id}/removal/', {
    summary: 'Count what the removal of a client would delete',
    description: 'Changes nothing. `deactivated_accounts` counts people who belong to no other client.',
  })
    .input(ById)
    .output(ClientRemovalOutput)
    .query(({ ctx, input }) => ctx.services.removals.previewClient(input.id)),

  remove: route(superuserProcedure, 'POST', '/jb/clients/{id}/removal/', {
    summary: 'Remove a client',
    description:
      'Deletes a closed client with its apps, groups, memberships, invitations and mails, and deactivates people who belong to no other client and are neither staff nor superuser. Cannot be undone: make a backup first. `confirm_name` is the name of the client. The audit trail and the site stay.',
    problems: ['not-closed', 'reauthentication-required'],
    example: { confirm_name: 'Acme' },
  })
    .input(z.object({ id: IdKey, confirm_name: Text(255) }))
    .output(z.void())
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.removals.removeClient(ctx.actor, input.id, input.confirm_name);
    }),
};
