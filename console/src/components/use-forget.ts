import { useQueryClient } from '@tanstack/react-query';

/** Call it before the user leaves the screen of a removed object: other screens then request their data again. */
export const useForget = () => {
  const queryClient = useQueryClient();
  return async (): Promise<void> => {
    queryClient.removeQueries({ type: 'inactive' });
    // The screen that is still shown must not request the removed object.
    await queryClient.invalidateQueries({ refetchType: 'none' });
  };
};
