import { useQueryClient } from '@tanstack/react-query';
import { type Inputs, type Outputs, steward, trpc } from '../api.ts';
import type { FieldLabels } from '../components/form-fields.ts';
import { useRecordForm } from '../components/use-record-form.tsx';

export type Client = Outputs['clients']['get'];
type Field = Extract<keyof NonNullable<Inputs['clients']['update']['expected']>, keyof Client>;

/** A form for some fields of a client. */
export const useClientForm = <F extends Field>(name: string, client: Client, labels: FieldLabels<F>) => {
  const queryClient = useQueryClient();
  const query = trpc.clients.get.queryOptions({ id: client.id }, { staleTime: 0 });
  return useRecordForm({
    name,
    record: client,
    labels,
    history: { action: 'client.update', target: client.name },
    read: () => queryClient.fetchQuery(query),
    save: (input) => steward.api.clients.update.mutate({ id: client.id, ...input }),
    onSaved: (updated) => {
      queryClient.setQueryData(query.queryKey, updated);
      for (const filter of [trpc.clients.list, trpc.audit.list])
        void queryClient.invalidateQueries(filter.pathFilter());
    },
  });
};
