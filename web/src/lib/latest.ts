// Answers may arrive in another order than their requests: only that of the latest request counts. `latest()` returns a
// function to call with each request; what this returns tells whether the request is still the latest.
export function latest(): () => () => boolean {
  let last = 0;
  return () => {
    const mine = ++last;
    return () => mine === last;
  };
}
