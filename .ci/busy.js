// Keeps one core busy for so many seconds, and ends by itself.
const endsAtMs = Date.now() + Number(process.argv[2]) * 1000
while (Date.now() < endsAtMs);
