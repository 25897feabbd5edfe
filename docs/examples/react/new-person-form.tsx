import { useMutation, useQueryClient } from '@tanstack/react-query';
import { fieldErrors } from 'steward/client';
import { Field } from './field.tsx';
import { sentenceOf, useTRPC } from './steward.ts';

export const NewPersonForm = () => {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const add = useMutation(
    trpc.users.create.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries(trpc.users.list.pathFilter()),
    }),
  );
  const faults = fieldErrors(add.error);
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        add.mutate({ email: String(form.get('email')), first_name: String(form.get('first_name')) });
      }}
    >
      <h2>Add somebody</h2>
      {add.error && (
        <p role="alert" className="fault">
          {sentenceOf(add.error)}
        </p>
      )}
      {add.data && <p role="status">{add.data.email} was added.</p>}
      <Field label="First name" name="first_name" faults={faults.first_name} />
      <Field label="Email address" name="email" type="email" faults={faults.email} />
      <button type="submit" disabled={add.isPending}>
        Add
      </button>
    </form>
  );
};
