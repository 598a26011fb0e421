from infra.start import start

start()
