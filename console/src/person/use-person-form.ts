import { useQueryClient } from '@tanstack/react-query';
import { type Inputs, type Outputs, steward, trpc } from '../api.ts';
import type { FieldLabels } from '../components/form-fields.ts';
import { useRecordForm } from '../components/use-record-form.tsx';

export type Person = Outputs['users']['get'];
type Field = Extract<keyof NonNullable<Inputs['users']['update']['expected']>, keyof Person>;

/** A form for some fields of a person. */
export const usePersonForm = <F extends Field>(
  name: string,
  person: Person,
  labels: FieldLabels<F>,
  action: 'user.update' | 'user.change-apps',
  describe?: (value: Person[F]) => string,
) => {
  const { email } = person;
  const queryClient = useQueryClient();
  const query = trpc.users.get.queryOptions({ email }, { staleTime: 0 });
  return useRecordForm({
    name,
    record: person,
    labels,
    describe,
    history: { action, target: email },
    read: () => queryClient.fetchQuery(query),
    save: (input) => steward.api.users.update.mutate({ email, ...input }),
    onSaved: (updated) => {
      queryClient.setQueryData(query.queryKey, updated);
      for (const filter of [trpc.users.list, trpc.users.people, trpc.audit.list, trpc.access])
        void queryClient.invalidateQueries(filter.pathFilter());
    },
  });
};
