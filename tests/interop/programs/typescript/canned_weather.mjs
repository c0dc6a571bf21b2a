// The weather service of the examples, without a network.
globalThis.fetch = async (address) => {
  if (!String(address).startsWith("https://api.open-meteo.com/v1/forecast?latitude=37.77&longitude=-122.42&")) throw new Error(`unexpected ${address}`);
  return Response.json({ current: { temperature_2m: 61.5 } });
};
