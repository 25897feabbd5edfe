import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Inputs, type Outputs, trpc } from '../api.ts';
import { changed, joined } from '../components/form-fields.ts';

export type Client = Outputs['clients']['get'];
type Field = Extract<keyof Extract<Inputs['clients']['update'], object>, keyof Client> & string;

/** A form for some fields of a client, which sends those that were changed. */
export const useClientForm = <F extends Exclude<Field, 'id'>>(client: Client, fields: readonly F[]) => {
  const queryClient = useQueryClient();
  const initialValues = Object.fromEntries(fields.map((field) => [field, client[field]])) as Pick<Client, F>;
  const form = useForm({ initialValues });
  const update = useMutation(
    trpc.clients.update.mutationOptions({
      onSuccess: async (updated) => {
        queryClient.setQueryData(trpc.clients.get.queryKey({ id: client.id }), updated);
        await queryClient.invalidateQueries(trpc.clients.list.pathFilter());
        form.setInitialValues(form.getValues());
        form.reset();
        notifications.show({ message: 'Saved.' });
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  const submit = form.onSubmit((values) =>
    update.mutate({ id: client.id, ...changed(values, (field) => form.isDirty(field)) }),
  );
  return { form, update, submit };
};
