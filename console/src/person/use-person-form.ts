import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type Inputs, type Outputs, steward, trpc } from '../api.ts';
import type { FieldLabels } from '../components/form-fields.ts';
import { objectFault, objectText, parseObject } from '../components/json-object.ts';
import { useRecordForm } from '../components/use-record-form.tsx';

export type Person = Outputs['users']['get'];
type Input = Inputs['users']['update'];

/** A person in forms: free-form data is edited as text. */
type PersonFields = Omit<Person, 'extra'> & { extra: string };
type Field = Extract<keyof NonNullable<Input['expected']>, keyof Person>;

const formFieldsOf = (person: Person): PersonFields => ({ ...person, extra: objectText(person.extra) });

const personOf = (fields: PersonFields): Person => ({ ...fields, extra: parseObject(fields.extra) });

/** Converts to the input of the procedure. */
const inputOf = ({ extra, ...fields }: Partial<Pick<PersonFields, Field>>) => ({
  ...fields,
  ...(extra !== undefined && { extra: parseObject(extra) }),
});

type Options<F extends Field> = {
  /** Unique on the screen. */
  name: string;
  labels: FieldLabels<F>;
  /** The name of such changes in the audit trail. */
  action: 'user.update' | 'membership.update';
};

/** A form for some fields of a person. */
export const usePersonForm = <F extends Field>(person: Person, { name, labels, action }: Options<F>) => {
  const { email } = person;
  const queryClient = useQueryClient();
  const query = trpc.users.get.queryOptions({ email }, { staleTime: 0 });
  return useRecordForm({
    name,
    record: useMemo(() => formFieldsOf(person), [person]),
    labels,
    validate: ({ extra = '' }: Partial<PersonFields>) => ({ extra: objectFault(extra) }),
    history: { action, target: email },
    read: async () => formFieldsOf(await queryClient.fetchQuery(query)),
    save: async ({ expected, ...changes }) => {
      const input: Input = { email, ...inputOf(changes), expected: inputOf(expected) };
      return formFieldsOf(await steward.api.users.update.mutate(input));
    },
    onSaved: (updated) => {
      queryClient.setQueryData(query.queryKey, personOf(updated));
      for (const filter of [
        trpc.users.list,
        trpc.users.people,
        trpc.memberships,
        trpc.audit.list,
        trpc.access,
      ])
        void queryClient.invalidateQueries(filter.pathFilter());
    },
  });
};
